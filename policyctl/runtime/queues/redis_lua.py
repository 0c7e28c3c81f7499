"""The Lua that scripts of a queue share: its keys, its totals, and how items move.

Keys, all beginning with ``{key}``:

======== ====== =======================================================
meta     hash   running totals
items    hash   id -> record of an item
bodies   hash   id -> payload, of items and dead letters
ready    zset   ids that may be taken, by number
later    zset   leased and delayed ids, by when that ends
order    zset   all ids, by number
lanes    zset   lane, number and id of items with ``order_by``, by text
dead     zset   ids of dead letters, by number
deaths   hash   id -> record of a dead letter
done     zset   ids that were acknowledged lately, by when
======== ====== =======================================================

A record is ``{number, lane, deliveries, put_at, keyed, size, receipt, error, history,
state, due, token}``; states are those of ``tables``.
"""

from __future__ import annotations

from typing import Final

KEYS: Final = (
    "meta",
    "items",
    "bodies",
    "ready",
    "later",
    "order",
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
  return cjson.encode(change)
end

local function get(id)
  local packed = redis.call('HGET', @items, id)
  return packed and cmsgpack.unpack(packed)
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
  if row[10] == 1 then
    total.leased = total.leased + sign
    total.leased_bytes = total.leased_bytes + sign * row[6]
  end
end

local function place(id, row, state, due)
  redis.call('ZREM', @ready, id)
  redis.call('ZREM', @later, id)
  count_leased(row, -1)
  row[10], row[11] = state, due
  count_leased(row, 1)
  if state == 0 then redis.call('ZADD', @ready, row[1], id) end
  if state == 1 or state == 2 then
    redis.call('ZADD', @later, string.format('%.6f', due), id)
  end
  redis.call('HSET', @items, id, cmsgpack.pack(row))
end

local function remove(id, row)
  redis.call('HDEL', @items, id)
  redis.call('ZREM', @ready, id)
  redis.call('ZREM', @later, id)
  redis.call('ZREM', @order, id)
  count_leased(row, -1)
  total.size = total.size - 1
  total.bytes = total.bytes - row[6]
  if row[2] ~= '' then
    redis.call('ZREM', @lanes, member(id, row))
    local first = head(row[2])
    local next = first and get(first)
    if next and next[10] == 3 then
      place(first, next, next[11] > now and 2 or 0, next[11])
    end
  end
end

local function give_back(id, row, delay)
  local state, due = 0, 0
  if delay > 0 then state, due = 2, now + delay end
  if row[2] ~= '' and head(row[2]) ~= id then state = 3 end
  row[7] = ''
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
  redis.call('HDEL', @bodies, id)
  total.dropped = total.dropped + 1
  table.insert(change.dropped, {id, reason})
end

local function insert_dead(id, row, reason, error)
  row[7], row[8], row[10], row[11] = reason, error, 4, now
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
    row[7] = ''
    if error ~= '' then row[8] = error end
    place(id, row, 2, now + 60)
    table.insert(change.parked, id)
    return false
  end
  -- Fails before anything is written where dead letters cannot be; full memory allows it.
  redis.call('ZREM', @dead, id)
  redis.call('HDEL', @deaths, id)
  remove(id, row)
  insert_dead(id, row, reason, error)
  return true
end

local function oldest()
  local from = 0
  while true do
    local ids = redis.call('ZRANGE', @order, from, from + 99)
    if #ids == 0 then return nil end
    for _, id in ipairs(ids) do
      local row = get(id)
      if row and row[10] ~= 1 then return id, row end
    end
    from = from + 100
  end
end

local function sweep()
  local ids = redis.call('ZRANGEBYSCORE', @later, '-inf', string.format('%.6f', now),
                         'LIMIT', 0, 256)
  for _, id in ipairs(ids) do
    local row = get(id)
    if not row then
      redis.call('ZREM', @later, id)
    elseif is_spent(row) then
      die(id, row, 'max_deliveries', row[8] ~= '' and row[8] or 'its lease expired')
    else
      give_back(id, row, 0)
    end
  end
end

local function held(id, receipt)
  local row = get(id)
  if row and row[10] == 1 and row[7] == receipt then return row end
end

local function insert(id, body, lane, keyed, token, history)
  local state = 0
  local row = {total.next, lane, 0, now, keyed, #body, '', '', history, 0, 0, token}
  if lane ~= '' and head(lane) then state = 3 end
  redis.call('HSET', @bodies, id, body)
  redis.call('ZADD', @order, row[1], id)
  if lane ~= '' then redis.call('ZADD', @lanes, 0, member(id, row)) end
  row[10] = state
  if state == 0 then redis.call('ZADD', @ready, row[1], id) end
  redis.call('HSET', @items, id, cmsgpack.pack(row))
  total.next = total.next + 1
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
