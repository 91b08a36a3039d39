;; What somebody does in Emacs with eglot, without a screen: open a file, see, ask, fix. Prints JSON.
;; Expects the configuration of docs/editors.md to be loaded, and the file to be the first argument behind `--`.
(require 'json)
(require 'flymake)
(defun trl-wait (what check)
  (let ((end (+ (float-time) 30)))
    (while (and (not (funcall check)) (< (float-time) end)) (run-hooks (quote post-command-hook)) (accept-process-output nil 0.1))
    (unless (funcall check) (error "waited in vain for %s" what))))
(defun trl-diagnostics ()
  (mapcar (lambda (d)
            (save-excursion
              (goto-char (flymake-diagnostic-beg d))
              `((line . ,(line-number-at-pos)) (column . ,(- (point) (line-beginning-position)))
                (text . ,(substring-no-properties (flymake-diagnostic-text d))))))
          (flymake-diagnostics)))
(let (said)
  (condition-case problem
      (progn
        (find-file (car (last command-line-args)))
        (trl-wait "the server" (lambda () (eglot-current-server)))
        (trl-wait "diagnostics" (lambda () (flymake-diagnostics)))
        (accept-process-output nil 1.5)
        (push `(before . ,(vconcat (trl-diagnostics))) said)
        (goto-char (flymake-diagnostic-beg (car (flymake-diagnostics))))
        (let ((hover (jsonrpc-request (eglot-current-server) :textDocument/hover
                                      (eglot--TextDocumentPositionParams))))
          (push `(hover . ,(plist-get (plist-get hover :contents) :value)) said))
        (let* ((actions (jsonrpc-request
                         (eglot-current-server) :textDocument/codeAction
                         `(:textDocument ,(eglot--TextDocumentIdentifier)
                           :range (:start ,(eglot--pos-to-lsp-position (point)) :end ,(eglot--pos-to-lsp-position (point)))
                           :context (:diagnostics []))))
               (fix (seq-find (lambda (a) (eq t (plist-get a :isPreferred))) actions)))
          (eglot--apply-workspace-edit (plist-get fix :edit)))
        (trl-wait "fresh diagnostics" (lambda () (null (flymake-diagnostics))))
        (push `(after . ,(vconcat (trl-diagnostics))) said)
        (push `(text . ,(buffer-substring-no-properties (point-min) (point-max))) said))
    (error (push `(problem . ,(format "%S" problem)) said)))
  (princ (concat (json-encode said) "\n"))
  (set-buffer-modified-p nil)
  (kill-emacs))
