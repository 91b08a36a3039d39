-- What somebody does in Neovim, without a screen: open a file, see, ask, fix, open others, change the settings. Prints JSON.
-- Runs in 0.7 as in 0.11. From the environment: TRY_OTHERS, files that are opened later, TRY_HIDING, settings that hide
-- every finding, and TRY_CLIENTS, how many servers there are.
local said = { others = {} }
local function wait(what, check)
  local ok = vim.wait(30000, check, 50)
  if not ok then error("waited in vain for " .. what) end
end
local function clients()
  return vim.tbl_values(vim.lsp.get_clients and vim.lsp.get_clients({ bufnr = 0 }) or vim.lsp.buf_get_clients(0))
end
local function diagnostics()
  local found = {}
  for _, d in ipairs(vim.diagnostic.get(0)) do
    if tostring(d.code):match("^TRL") then
      table.insert(found, { line = d.lnum + 1, column = d.col, code = d.code, source = d.source })
    end
  end
  return found
end
local function settings(text)
  local here = vim.api.nvim_get_current_buf()
  vim.cmd("edit trl-lint.toml")
  vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(text, "\n"))
  vim.cmd("write")
  vim.api.nvim_set_current_buf(here)
end

local ok, problem = pcall(function()
  wait("the servers", function() return #clients() >= tonumber(vim.env.TRY_CLIENTS or "1") end)
  wait("diagnostics", function() return #diagnostics() > 0 end)
  vim.wait(vim.env.TRY_CLIENTS and 8000 or 1500)  -- for what may come twice
  said.before = diagnostics()
  local client = clients()[1]
  said.encoding = client.offset_encoding

  local first = said.before[1]
  vim.api.nvim_win_set_cursor(0, { first.line, first.column })
  local answers = vim.lsp.buf_request_sync(0, "textDocument/hover", vim.lsp.util.make_position_params(0, client.offset_encoding), 30000)
  for _, answer in pairs(answers or {}) do
    local contents = answer.result and answer.result.contents
    if type(contents) == "table" and (contents.value or ""):match("packing") then said.hover = contents.value end
  end
  if not vim.env.TRY_CLIENTS then
    vim.ui.select = function(items, _, choose)  -- as 0.7 asks
      for index, item in ipairs(items) do
        local action = item.action or item[2]
        if action.isPreferred then return choose(item, index) end
      end
    end
    local preferred = { filter = function(action) return action.isPreferred end, apply = true }
    vim.lsp.buf.code_action(vim.fn.has("nvim-0.8") == 1 and preferred or nil)
    wait("the fix", function() return vim.bo.modified end)
    wait("fresh diagnostics", function() return #diagnostics() == 0 end)
    said.after = diagnostics()
    said.text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
    vim.cmd("write")
    for name in vim.env.TRY_OTHERS:gmatch("%S+") do
      vim.cmd("edit " .. name)
      wait("diagnostics of " .. name, function() return #diagnostics() > 0 end)
      vim.wait(1500)
      said.others[name] = diagnostics()
      settings(vim.env.TRY_HIDING)
      wait("settings that are read again", function() return #diagnostics() == 0 end)
      settings("")
      wait("settings that are gone", function() return #diagnostics() > 0 end)
    end
    said.settings = true
  end
end)
said.problem = not ok and tostring(problem) or nil
io.stdout:write("\n" .. vim.json.encode(said) .. "\n")
vim.cmd("qall!")
