-- Every move of the record that touches more than one key, each whole or not at all.
--
-- Who may write is said by (epoch, session): the epoch is one life of a worker, the session one
-- connection of that life. What came by an older one is refused, so that a zombie, or what waited
-- in the socket of a server that stood still, changes nothing. Within a session a sandbox goes
-- only forward in (epoch, generation, rank). Time is this server's alone.
--
-- All keys come as keys and share one hash tag. Numbers are answered as text.

local F = {}

local function now()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

local function text(n) return string.format('%.0f', n) end

local function number(s) return tonumber(s or '') or 0 end

local function event(key, what, worker, id, more)
  redis.call('XADD', key, 'MAXLEN', '~', 10000, '*',
    'what', what, 'worker', worker, 'id', id, 'more', more)
end

-- Whether (epoch, session) may write: `ok`, `stale`, or `absent` where the record knows less of
-- the worker than the worker does.
local function fence(worker, epoch, session)
  local had = redis.call('HMGET', worker, 'epoch', 'session')
  if not had[1] then return 'absent' end
  local e, s = number(had[1]), number(had[2])
  epoch, session = number(epoch), number(session)
  if epoch == e and session == s then return 'ok' end
  if epoch < e or (epoch == e and session < s) then return 'stale' end
  return 'absent'
end

local function keep(keys, ms)
  for _, key in ipairs(keys) do redis.call('PEXPIRE', key, ms) end
end

-- A worker says who it is and all it has; what was there of it is replaced.
-- keys: epoch, workers, epochs, worker, sandboxes, gone, events
-- args: name, instance, started, epoch or 0, session, slots, busy, host, version, keep,
--       then id, generation, rank, rest of each sandbox
function F.enter(keys, args)
  local had = redis.call('HMGET', keys[4], 'instance', 'epoch', 'session', 'started', 'drain')
  local epoch = number(args[4])
  local same = had[1] == args[2]
  if same then
    if number(args[5]) <= number(had[3]) then return { 'stale' } end
    epoch = number(had[2])
  elseif had[1] then
    if epoch > 0 and epoch <= number(had[2]) then return { 'stale' } end
    if epoch == 0 and number(args[3]) < number(had[4]) then return { 'stale' } end
  end
  local last = number(redis.call('GET', keys[1]))
  if epoch == 0 then epoch = math.max(last + 1, number(args[3])) end
  if epoch > last then redis.call('SET', keys[1], text(epoch)) end
  local t = now()
  redis.call('DEL', keys[4], keys[5], keys[6])
  redis.call('HSET', keys[4], 'instance', args[2], 'started', args[3], 'epoch', text(epoch),
    'session', args[5], 'slots', args[6], 'busy', args[7], 'host', args[8], 'version', args[9])
  if same and had[5] then redis.call('HSET', keys[4], 'drain', had[5]) end
  redis.call('ZADD', keys[2], t, args[1])
  redis.call('HSET', keys[3], args[1], text(epoch))
  for i = 11, #args - 3, 4 do
    redis.call('HSET', keys[5], args[i],
      table.concat({ text(epoch), args[i + 1], args[i + 2], text(t), args[i + 3] }, ' '))
  end
  keep({ keys[4], keys[5] }, args[10])
  event(keys[7], 'enter', args[1], '', text(epoch))
  return { 'ok', text(epoch) }
end

-- keys: workers, worker, sandboxes, gone
-- args: name, epoch, session, slots, busy, how many sandboxes or nothing, keep
function F.beat(keys, args)
  local may = fence(keys[2], args[2], args[3])
  if may ~= 'ok' then return { may } end
  redis.call('HSET', keys[2], 'slots', args[4], 'busy', args[5])
  redis.call('ZADD', keys[1], now(), args[1])
  keep({ keys[2], keys[3], keys[4] }, args[7])
  if args[6] ~= '' and redis.call('HLEN', keys[3]) ~= number(args[6]) then return { 'differs' } end
  return { 'ok', redis.call('HGET', keys[2], 'drain') == args[2] and 'drain' or '' }
end

-- Draws, returns and retirements: a sandbox is in a phase.
-- keys: worker, sandboxes, gone, events
-- args: name, epoch, session, keep, then id, generation, rank, rest of each sandbox
function F.project(keys, args)
  local may = fence(keys[1], args[2], args[3])
  if may ~= 'ok' then return { may } end
  local t, refused, RETIRED = now(), 0, 4
  for i = 5, #args - 3, 4 do
    local id, generation, rank = args[i], number(args[i + 1]), number(args[i + 2])
    local had, stale = redis.call('HGET', keys[2], id), redis.call('ZSCORE', keys[3], id)
    if had and not stale then
      local e, g, r = string.match(had, '^(%d+) (%d+) (%d+) ')
      e, g, r = number(e), number(g), number(r)
      local epoch = number(args[2])
      stale = epoch < e
        or (epoch == e and (generation < g or (generation == g and rank <= r)))
    end
    if stale then
      refused = refused + 1
    else
      if rank == RETIRED then
        redis.call('HDEL', keys[2], id)
        redis.call('ZADD', keys[3], t, id)
        redis.call('ZREMRANGEBYRANK', keys[3], 0, -1025)
      else
        redis.call('HSET', keys[2], id,
          table.concat({ args[2], args[i + 1], args[i + 2], text(t), args[i + 3] }, ' '))
      end
      event(keys[4], 'moved', args[1], id, args[i + 3])
    end
  end
  keep({ keys[2], keys[3] }, args[4])
  return { 'ok', text(refused) }
end

-- keys: workers, epochs, worker, sandboxes, gone, events
local function remove(keys, name, what)
  redis.call('ZREM', keys[1], name)
  redis.call('HDEL', keys[2], name)
  redis.call('DEL', keys[3], keys[4], keys[5])
  event(keys[6], what, name, '', '')
  return { 'ok' }
end

-- args: name, epoch, session
function F.leave(keys, args)
  local may = fence(keys[3], args[2], args[3])
  if may ~= 'ok' then return { may } end
  return remove(keys, args[1], 'leave')
end

-- The names of workers that were not heard of for so long.
-- keys: workers; args: gone, how many at most
function F.expired(keys, args)
  return redis.call('ZRANGEBYSCORE', keys[1], '-inf', text(now() - number(args[1])),
    'LIMIT', 0, number(args[2]))
end

-- Takes one of them out of the record; nothing but the record is touched.
-- args: name, gone
function F.reap(keys, args)
  local beat = redis.call('ZSCORE', keys[1], args[1])
  if not beat or number(beat) > now() - number(args[2]) then return { 'lives' } end
  return remove(keys, args[1], 'reap')
end

-- keys: job, workers, epochs; args: worker, epoch, force, stale, keep
function F.claim(keys, args)
  if number(redis.call('HGET', keys[3], args[1])) ~= number(args[2]) then return { 'stale' } end
  local had = redis.call('HMGET', keys[1], 'worker', 'epoch', 'token', 'done')
  local open = had[1] and not had[4]
  if open and had[1] == args[1] and number(had[2]) == number(args[2]) then
    keep({ keys[1] }, args[5])
    return { 'ours', had[3] }
  end
  if open and args[3] ~= '1' then
    local beat = redis.call('ZSCORE', keys[2], had[1])
    if beat and now() - number(beat) < number(args[4])
      and number(redis.call('HGET', keys[3], had[1])) == number(had[2]) then
      return { 'held', had[1] }
    end
  end
  local token = redis.call('HINCRBY', keys[1], 'token', 1)
  redis.call('HSET', keys[1], 'worker', args[1], 'epoch', args[2])
  redis.call('HDEL', keys[1], 'done')
  keep({ keys[1] }, args[5])
  return { 'ours', text(token) }
end

-- Whether the claim is this worker's still; a token that nobody knows is not compared.
local function holds(key, args)
  local had = redis.call('HMGET', key, 'worker', 'epoch', 'token', 'done')
  if not had[1] then return 'absent' end
  local same = had[1] == args[1] and number(had[2]) == number(args[2]) and not had[4]
    and (args[3] == '' or args[3] == had[3])
  return same and 'ok' or 'fenced'
end

-- keys: job; args: worker, epoch, token or nothing, keep
function F.finish(keys, args)
  local may = holds(keys[1], args)
  if may == 'ok' then
    redis.call('HSET', keys[1], 'done', '1')
    keep({ keys[1] }, args[4])
  end
  return { may }
end

-- keys: job; args: worker, epoch, token or nothing, keep
function F.renew(keys, args)
  local may = holds(keys[1], args)
  if may == 'ok' then keep({ keys[1] }, args[4]) end
  return { may }
end

-- Asks a worker to drain; it hears of it at its next beat, and a later life of it does not.
-- keys: worker
function F.drain(keys, args)
  local epoch = redis.call('HGET', keys[1], 'epoch')
  if not epoch then return { 'absent' } end
  redis.call('HSET', keys[1], 'drain', epoch)
  return { 'ok' }
end
