--- Where in a buffer the user is, as the protocol tells places.
local M = {}

--- The position in the client's encoding; `byte` may be past the end of the line.
local function position(bufnr, line, byte, encoding)
  local text = vim.api.nvim_buf_get_lines(bufnr, line, line + 1, false)[1] or ''
  return { line = line, character = vim.str_utfindex(text, encoding, math.min(byte, #text)) }
end

--- The range of `:{range}Ask`: the characters of the selection where the range is one, else whole lines.
function M.range(bufnr, first, last, encoding)
  local from, to = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  local by_characters = vim.fn.visualmode() == 'v' and from[2] == first and to[2] == last
  if not by_characters then
    return {
      start = position(bufnr, first - 1, 0, encoding),
      ['end'] = position(bufnr, last - 1, math.huge, encoding),
    }
  end
  local text = vim.api.nvim_buf_get_lines(bufnr, last - 1, last, false)[1] or ''
  local past = to[3] - 1
  if vim.o.selection ~= 'exclusive' and past < #text then
    past = past + vim.str_utf_end(text, to[3]) + 1 -- the mark is on the last character's first byte
  end
  return {
    start = position(bufnr, first - 1, from[3] - 1, encoding),
    ['end'] = position(bufnr, last - 1, past, encoding),
  }
end

return M
