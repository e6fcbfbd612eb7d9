--- The window with the answer: one Markdown scratch buffer, used again for every answer.
local M = {}

local BUFFER_NAME = 'askls://answer'
--- Lines that the window takes at most, so that the file asked about stays in sight.
local MAX_HEIGHT = 15

local function buffer()
  local bufnr = vim.fn.bufnr('^' .. BUFFER_NAME .. '$')
  if bufnr ~= -1 then
    return bufnr
  end
  bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(bufnr, BUFFER_NAME)
  vim.bo[bufnr].bufhidden = 'hide'
  vim.bo[bufnr].filetype = 'markdown'
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = bufnr, desc = 'Close the answer' })
  return bufnr
end

--- How a turn ended, in words, when it did not simply end with its answer.
local function ending(result)
  if result.stopReason == 'answer' then
    return nil
  end
  local reason = result.limit and ('%s (%s)'):format(result.stopReason, result.limit) or result.stopReason
  return ('> **Not finished: %s.** %s'):format(reason:gsub('_', ' '), result.detail or '')
end

--- The files that the agent changed in their buffers only.
local function not_saved(result)
  if not result.unsaved or #result.unsaved == 0 then
    return nil
  end
  local names = vim.tbl_map(function(uri)
    return ('`%s`'):format(vim.fn.fnamemodify(vim.uri_to_fname(uri), ':.'))
  end, result.unsaved)
  return ('> Not saved yet: %s. `:wall` saves.'):format(table.concat(names, ', '))
end

--- The whole document: the question, the answer, and how it ended when that is worth saying.
local function document(prompt, result)
  local parts = { '# ' .. prompt:gsub('%s+', ' ') }
  if result.answer and result.answer ~= '' then
    table.insert(parts, result.answer)
  end
  table.insert(parts, ending(result))
  table.insert(parts, not_saved(result))
  return vim.split(table.concat(parts, '\n\n'), '\r?\n')
end

--- Shows an answer of `askls.ask` without taking the cursor away.
---@param prompt string
---@param result table the result of the command `askls.ask`
function M.show(prompt, result)
  local bufnr = buffer()
  local lines = document(prompt, result)
  vim.bo[bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false

  local window = vim.fn.bufwinid(bufnr)
  if window == -1 then
    window = vim.api.nvim_open_win(bufnr, false, { split = 'below', win = -1, height = math.min(#lines + 1, MAX_HEIGHT) })
    vim.wo[window][0].wrap = true
    vim.wo[window][0].linebreak = true
    vim.wo[window][0].number = false
    vim.wo[window][0].relativenumber = false
  end
  vim.api.nvim_win_set_cursor(window, { 1, 0 })
end

return M
