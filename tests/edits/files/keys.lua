local M = {}

local defaults = {
  leader = " ",
  timeout = 300,
  border = "rounded",
}

-- Later tables win.
local function merge(one, other)
  local out = {}
  for key, value in pairs(one) do
    out[key] = value
  end
  for key, value in pairs(other or {}) do
    out[key] = value
  end
  return out
end

function M.setup(options)
  local settings = merge(defaults, options)

  vim.g.mapleader = settings.leader
  vim.o.timeoutlen = settings.timeout
  -- Each of these can be mapped again by the user.
  vim.keymap.set("n", "<leader>w", "<cmd>write<cr>", { desc = "Save the file" })
  vim.keymap.set("n", "<leader>q", "<cmd>quit<cr>", { desc = "Close the window" })

  M.settings = settings
end

function M.float(lines)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  local width = 0
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  return vim.api.nvim_open_win(buffer, true, {
    relative = "cursor",
    width = width,
    height = #lines,
    row = 1,
    col = 0,
    border = M.settings.border,
  })
end

return M
