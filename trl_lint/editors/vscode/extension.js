// Starts `trl-lint server` and connects VS Code with it. Everything else is the server's.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const LANGUAGES = [
  "python", "yaml", "json", "jsonc", "toml", "shellscript", "pip-requirements", "plaintext", "dockerfile", "makefile",
  "markdown",
];

let client;

async function activate() {
  const [command, ...args] = vscode.workspace.getConfiguration("trl-lint").get("command");
  const options = {
    documentSelector: [
      ...LANGUAGES.map((language) => ({ scheme: "file", language })),
      { notebook: "jupyter-notebook", language: "python" },
    ],
  };
  client = new LanguageClient("trl-lint", "trl-lint", { command, args }, options);
  await client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
