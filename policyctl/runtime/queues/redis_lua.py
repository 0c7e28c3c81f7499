"""The Lua that scripts of a queue share: its keys, its totals, and how items move.

Keys, all beginning with ``{key}``:

======== ====== =======================================================
meta     hash   running totals
bodies   hash   id -> number, instant of the put, and payload of an item
items    hash   id -> record of an item
ready    zset   ids that may be taken, by number
rest     zset   all other ids, by number
later    zset   leased and delayed ids, by when that ends
lanes    zset   lane, number and id of items with ``order_by``, by text
dead     zset   ids of dead letters, by number
deaths   hash   id -> record of a dead letter with its payload
done     zset   ids that were acknowledged lately, by when
======== ====== =======================================================

A record is ``{number, lane, deliveries, put_at, size, receipt, error, history, state, due,
token}``, and the payload of a dead letter; states are those of ``tables``. An item that
nobody has touched since its put needs none: most items are put, taken and acknowledged, so
that the put is cheap.
"""

from __future__ import annotations

from typing import Final

KEYS: Final = (
    "meta",
    "bodies",
    "items",
    "ready",
    "rest",
    "later",
    "lanes",
    "dead",
    "deaths",
    "done",
)

PRELUDE: Final = """
local config = cjson.decode(ARGV[2])
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1000000
end
local NAMES = {'next', 'size', 'bytes', 'dead', 'warned', 'put', 'acked', 'dropped',
               'dead_lettered', 'leased', 'leased_bytes'}
local total = {}
local found = redis.call('HMGET', @meta, unpack(NAMES))
for n, name in ipairs(NAMES) do total[name] = tonumber(found[n]) or 0 end
local change = {dead = {}, dropped = {}, parked = {}}

local function save()
  local above = total.size >= config.warn_at * config.max_size and 1 or 0
  if above ~= total.warned then
    total.warned = above
    change.level = above == 1
  end
  change.size = total.size
  local values = {}
  for n, name in ipairs(NAMES) do
    if total[name] ~= (tonumber(found[n]) or 0) then
      values[#values + 1] = name
      values[#values + 1] = string.format('%d', total[name])
    end
  end
  if #values > 0 then
    redis.call('HSET', @meta, unpack(values))
  end
  if change.level == nil and #change.dead + #change.dropped + #change.parked == 0 then
    return total.size
  end
  return cjson.encode(change)
end

local HEADER = 16

local function record(id)
  local packed = redis.call('HGET', @items, id)
  return packed and cmsgpack.unpack(packed)
end

local function body_of(id, raw)
  return string.sub(raw or redis.call('HGET', @bodies, id) or '', HEADER + 1)
end

local function get(id)
  local row = record(id)
  if row then return row end
  local raw = redis.call('HGET', @bodies, id)
  if not raw then return nil end
  local number, put_at = struct.unpack('>dd', raw)
  return {number, '', 0, put_at, #raw - HEADER, '', '', '', 0, 0, ''}, raw
end
"""
MOVES: Final = """
local function member(id, row)
  return row[2] .. '\\0' .. string.format('%016d', row[1]) .. id
end

local function head(lane)
  local first = redis.call('ZRANGEBYLEX', @lanes, '[' .. lane .. '\\0',
                           '(' .. lane .. '\\1', 'LIMIT', 0, 1)[1]
  return first and string.sub(first, #lane + 18)
end

local function count_leased(row, sign)
  if row[9] == 1 then
    total.leased = total.leased + sign
    total.leased_bytes = total.leased_bytes + sign * row[5]
  end
end

-- Removes before it adds: a full memory refuses a script only if it begins by adding.
local function place(id, row, state, due)
  local old = row[9]
  if old == 1 or old == 2 then redis.call('ZREM', @later, id) end
  if old == 0 and state ~= 0 then
    redis.call('ZREM', @ready, id)
    redis.call('ZADD', @rest, row[1], id)
  elseif old ~= 0 and state == 0 then
    redis.call('ZREM', @rest, id)
    redis.call('ZADD', @ready, row[1], id)
  end
  count_leased(row, -1)
  row[9], row[10] = state, due
  count_leased(row, 1)
  if state == 1 or state == 2 then
    redis.call('ZADD', @later, string.format('%.6f', due), id)
  end
  redis.call('HSET', @items, id, cmsgpack.pack(row))
end

local function remove(id, row)
  local state = row[9]
  redis.call('HDEL', @bodies, id)
  redis.call('HDEL', @items, id)
  if state == 0 then
    redis.call('ZREM', @ready, id)
  else
    redis.call('ZREM', @rest, id)
    redis.call('ZREM', @later, id)
  end
  count_leased(row, -1)
  total.size = total.size - 1
  total.bytes = total.bytes - row[5]
  if row[2] ~= '' then
    redis.call('ZREM', @lanes, member(id, row))
    local first = head(row[2])
    local next = first and record(first)
    if next and next[9] == 3 then
      place(first, next, next[10] > now and 2 or 0, next[10])
    end
  end
end

local function give_back(id, row, delay)
  local state, due = 0, 0
  if delay > 0 then state, due = 2, now + delay end
  if row[2] ~= '' and head(row[2]) ~= id then state = 3 end
  row[6] = ''
  place(id, row, state, due)
end

local function is_spent(row)
  return config.max_deliveries and row[3] >= config.max_deliveries
end

local function is_old(row)
  return config.max_age and now - row[4] > config.max_age
end

local function drop(id, row, reason)
  remove(id, row)
  total.dropped = total.dropped + 1
  table.insert(change.dropped, {id, reason})
end

local function insert_dead(id, row, reason, error, body)
  row[6], row[7], row[9], row[10], row[12] = reason, error, 4, now, body
  redis.call('ZADD', @dead, total.next, id)
  redis.call('HSET', @deaths, id, cmsgpack.pack(row))
  total.next = total.next + 1
  total.dead = total.dead + 1
  total.dead_lettered = total.dead_lettered + 1
  table.insert(change.dead, {id, reason})
end

local function die(id, row, reason, error)
  if not config.dead_max then
    drop(id, row, reason)
    return true
  end
  if total.dead >= config.dead_max then
    row[6] = ''
    if error ~= '' then row[7] = error end
    place(id, row, 2, now + 60)
    table.insert(change.parked, id)
    return false
  end
  -- Fails before anything is written where dead letters cannot be; full memory allows it.
  redis.call('ZREM', @dead, id)
  redis.call('HDEL', @deaths, id)
  local body = body_of(id)
  remove(id, row)
  insert_dead(id, row, reason, error, body)
  return true
end

local function oldest()
  local first = redis.call('ZRANGE', @ready, 0, 0, 'WITHSCORES')
  local before = tonumber(first[2]) or math.huge
  local from = 0
  while true do
    local found = redis.call('ZRANGE', @rest, from, from + 99, 'WITHSCORES')
    for n = 1, #found, 2 do
      if tonumber(found[n + 1]) > before then break end
      local row = record(found[n])
      if row and row[9] ~= 1 then return found[n], row end
    end
    if #found < 200 or tonumber(found[#found]) > before then break end
    from = from + 100
  end
  if first[1] then return first[1], (get(first[1])) end
end

local function sweep()
  local ids = redis.call('ZRANGEBYSCORE', @later, '-inf', string.format('%.6f', now),
                         'LIMIT', 0, 256)
  for _, id in ipairs(ids) do
    local row = record(id)
    if not row then
      redis.call('ZREM', @later, id)
    elseif is_spent(row) then
      die(id, row, 'max_deliveries', row[7] ~= '' and row[7] or 'its lease expired')
    else
      give_back(id, row, 0)
    end
  end
end

local FINISHED_KNOWN = 600

local function is_finished(id)
  local at = redis.call('ZSCORE', @done, id)
  return at and tonumber(at) >= now - FINISHED_KNOWN
end

local function held(id, receipt)
  local row = record(id)
  if row and row[9] == 1 and row[6] == receipt then return row end
end

local function insert(id, body, lane, token, history)
  local number = total.next
  local state = lane ~= '' and head(lane) and 3 or 0
  redis.call('HSET', @bodies, id, struct.pack('>dd', number, now) .. body)
  if state == 0 then
    redis.call('ZADD', @ready, number, id)
  else
    redis.call('ZADD', @rest, number, id)
  end
  if lane ~= '' or token ~= '' or history ~= '' then
    local row = {number, lane, 0, now, #body, '', '', history, state, 0, token}
    redis.call('HSET', @items, id, cmsgpack.pack(row))
    if lane ~= '' then redis.call('ZADD', @lanes, 0, member(id, row)) end
  end
  total.next = number + 1
  total.size = total.size + 1
  total.bytes = total.bytes + #body
end

local function lacking(size, items, bytes)
  if items + 1 > config.max_size then
    return {items, config.max_size, 'items'}
  end
  if config.max_bytes and bytes + size > config.max_bytes then
    return {bytes, config.max_bytes, 'bytes'}
  end
end
"""
