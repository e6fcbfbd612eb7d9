--- The window with the answer: one Markdown scratch buffer, used again for every answer. Those of one thread stand below
--- each other.
local M = {}

local ANSWER = 'askls://answer'
local STATUS = 'askls://status'
--- Lines that the window takes at most, so that the file asked about stays in sight.
local MAX_HEIGHT = 15

--- The thread whose answers are in the window.
---@type string?
local shown_thread

local function buffer(name, filetype)
  local bufnr = vim.fn.bufnr('^' .. name .. '$')
  if bufnr ~= -1 then
    return bufnr
  end
  bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(bufnr, name)
  vim.bo[bufnr].bufhidden = 'hide'
  vim.bo[bufnr].filetype = filetype
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = bufnr, desc = 'Close this window' })
  return bufnr
end

--- How a turn ended, in words, when it did not simply end with its answer: an answer may be cut off, too.
local function ending(result)
  if result.stopReason == 'answer' then
    return result.detail and ('> **Note:** %s'):format(result.detail)
  end
  if result.fault == 'settings' then
    return ('> **The settings cannot work.** %s'):format(result.detail or '')
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

--- What the agent has left running.
local function jobs(result)
  if not result.jobs or #result.jobs == 0 then
    return nil
  end
  local names = vim.tbl_map(function(command)
    return ('`%s`'):format(command)
  end, result.jobs)
  local ends = #names == 1 and 'ends it' or 'ends them'
  return ('> Still running in the background: %s. `:AskStop` %s.'):format(table.concat(names, ', '), ends)
end

--- The whole document: the question, the answer, and how it ended when that is worth saying.
local function document(prompt, result)
  local parts = { '# ' .. prompt:gsub('%s+', ' ') }
  if result.answer and result.answer ~= '' then
    table.insert(parts, result.answer)
  end
  table.insert(parts, ending(result))
  table.insert(parts, not_saved(result))
  table.insert(parts, jobs(result))
  return vim.split(table.concat(parts, '\n\n'), '\r?\n')
end

--- Shows lines in the window of a buffer without taking the cursor away; from the line `first` on they are new.
local function show(bufnr, lines, first)
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
  vim.api.nvim_win_set_cursor(window, { first, 0 })
  vim.api.nvim_win_call(window, function()
    vim.cmd.normal({ 'zt', bang = true })
  end)
end

--- Shows an answer of `askls.ask`: below the earlier ones of its thread, or alone.
---@param prompt string
---@param result table the result of the command `askls.ask`
function M.show(prompt, result)
  local bufnr = buffer(ANSWER, 'markdown')
  local lines, first = document(prompt, result), 1
  if result.threadId and result.threadId == shown_thread then
    local earlier = vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
    first = #earlier + 2
    lines = vim.list_extend(vim.list_extend(earlier, { '' }), lines)
  end
  shown_thread = result.threadId
  show(bufnr, lines, first)
end

--- Shows what `askls.status` says.
---@param text string
function M.show_status(text)
  show(buffer(STATUS, ''), vim.split(text, '\n'), 1)
end

return M
