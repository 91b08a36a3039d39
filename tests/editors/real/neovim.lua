-- What somebody does in Neovim, without a screen: open a file, see, ask, fix, change another file. Prints JSON.
-- Arguments behind `--`: the file with a finding, and the line of it (from 1).
local said = {}
local function wait(what, check)
  local ok = vim.wait(30000, check, 50)
  if not ok then error("waited in vain for " .. what) end
end
local function diagnostics()
  return vim.tbl_map(function(d)
    return { line = d.lnum + 1, column = d.col, code = d.code, source = d.source }
  end, vim.diagnostic.get(0))
end

local ok, problem = pcall(function()
  wait("the server", function() return #vim.lsp.get_clients({ bufnr = 0 }) > 0 end)
  wait("diagnostics", function() return #vim.diagnostic.get(0) > 0 end)
  vim.wait(1500)  -- for what may come twice
  said.before = diagnostics()
  local client = vim.lsp.get_clients({ bufnr = 0 })[1]
  said.name, said.encoding = client.name, client.offset_encoding

  local first = vim.diagnostic.get(0)[1]
  vim.api.nvim_win_set_cursor(0, { first.lnum + 1, first.col })
  local hover = client:request_sync("textDocument/hover", vim.lsp.util.make_position_params(0, client.offset_encoding), 30000)
  said.hover = hover and hover.result and hover.result.contents.value or vim.NIL

  vim.lsp.buf.code_action({
    filter = function(action) return action.isPreferred end,
    apply = true,
  })
  wait("the fix", function() return vim.bo.modified end)
  wait("fresh diagnostics", function()
    for _, d in ipairs(vim.diagnostic.get(0)) do
      if d.code == first.code and d.lnum == first.lnum then return false end
    end
    return true
  end)
  said.after = diagnostics()
  said.text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end)
said.problem = ok and vim.NIL or tostring(problem)
io.stdout:write(vim.json.encode(said) .. "\n")
vim.cmd("qall!")
