// Locks are taken in one order everywhere (inbox rows by message, then claims by conversation), so that two replicas
// that work on the same messages wait for each other instead of deadlocking.

/** $1–$5 columns of the entries, $6 claim id, $7 owner, $8 until, $9 now. */
export const acceptSql = `
with given as materialized (
  select o.*, nextval(pg_get_serial_sequence('inbox', 'seq')) as seq
  from (
    select * from (
      select distinct on (message_id) *
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
        with ordinality as u (message_id, conversation_id, user_id, payload, accepted_at, place)
      order by message_id, place
    ) d
    order by place
  ) o
),
added as (
  insert into inbox (seq, message_id, conversation_id, user_id, payload, accepted_at)
  select seq, message_id, conversation_id, user_id, payload, accepted_at from given order by message_id
  on conflict (message_id) do update set
    seq = excluded.seq, conversation_id = excluded.conversation_id, user_id = excluded.user_id,
    payload = excluded.payload, accepted_at = excluded.accepted_at, takeovers = 0, outcome = null, expires_at = null
  where inbox.payload is null and inbox.expires_at <= $9::bigint
  returning message_id, conversation_id, seq
),
taken as (
  insert into claim as c (conversation_id, claim_id, owner, until, arrivals)
  select distinct conversation_id, $6::text, $7::text, $8::bigint, 0::bigint from added order by conversation_id
  on conflict (conversation_id) do update set
    arrivals = c.arrivals + 1,
    claim_id = case when c.until < $9::bigint then excluded.claim_id else c.claim_id end,
    owner = case when c.until < $9::bigint then excluded.owner else c.owner end,
    until = case when c.until < $9::bigint then excluded.until else c.until end
  returning conversation_id, claim_id
)
select a.message_id, a.conversation_id, a.seq, t.claim_id = $6::text as held,
  exists (select 1 from inbox i where i.conversation_id = a.conversation_id and i.payload is not null) as behind
from added a join taken t using (conversation_id)`;

/**
 * $1 conversations, $2 claim ids, $3 finished messages, $4 outcomes, $5 expiries. A claim is given back only if nothing
 * has arrived since the snapshot of this statement: an arrival raises the counter, and a raised counter keeps the claim.
 */
export const advanceSql = `
with given as (
  select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
    as u (conversation_id, claim_id, message_id, outcome, expires_at)
),
done as (
  update inbox i set payload = null, outcome = g.outcome, expires_at = g.expires_at
  from given g where i.message_id = g.message_id and i.payload is not null
  returning i.message_id
),
state as materialized (
  select g.conversation_id, g.claim_id, coalesce(c.claim_id = g.claim_id, false) as held, c.arrivals,
    n.message_id, n.user_id, n.payload, n.accepted_at
  from given g
  left join claim c using (conversation_id)
  left join lateral (
    select i.message_id, i.user_id, i.payload, i.accepted_at from inbox i
    where i.conversation_id = g.conversation_id and i.payload is not null
      and i.message_id is distinct from g.message_id
    order by i.seq limit 1
  ) n on true
),
released as (
  delete from claim c using state s
  where c.conversation_id = s.conversation_id and c.claim_id = s.claim_id and c.arrivals = s.arrivals
    and s.message_id is null and (select count(*) from done) >= 0
  returning c.conversation_id
)
select s.conversation_id, s.held, s.message_id, s.user_id, s.payload, s.accepted_at,
  r.conversation_id is not null as released
from state s left join released r using (conversation_id)`;

/**
 * $1 claim id, $2 owner, $3 until, $4 now, $5 limit. The last step looks at the row as it is now: an entry that
 * another replica has finished since the snapshot is not handed out again; its claim comes back without a message.
 */
export const takeOverSql = `
with stranded as (
  select i.conversation_id from inbox i
  where i.payload is not null
    and not exists (select 1 from claim c where c.conversation_id = i.conversation_id and c.until >= $4::bigint)
  group by i.conversation_id order by min(i.seq) limit $5::int
),
taken as (
  insert into claim as c (conversation_id, claim_id, owner, until, arrivals)
  select conversation_id, $1::text, $2::text, $3::bigint, 0::bigint from stranded order by conversation_id
  on conflict (conversation_id) do update set
    arrivals = c.arrivals + 1, claim_id = excluded.claim_id, owner = excluded.owner, until = excluded.until
  where c.until < $4::bigint
  returning conversation_id
),
heads as (
  select h.seq from taken t
  join lateral (
    select i.seq from inbox i where i.conversation_id = t.conversation_id and i.payload is not null
    order by i.seq limit 1
  ) h on true
),
first as (
  select message_id, conversation_id, user_id, payload, accepted_at
  from inbox where seq in (select seq from heads) and payload is not null
  for no key update
)
select t.conversation_id, n.message_id, n.user_id, n.payload, n.accepted_at
from taken t left join first n using (conversation_id)`;

export const beginHandlingSql = `
update inbox set takeovers = takeovers + 1 where message_id = $1::text returning takeovers`;

export const endHandlingSql = 'update inbox set takeovers = 0 where message_id = $1::text';

export const renewSql = `
update claim c set until = $3::bigint
from unnest($1::text[], $2::text[]) as u (conversation_id, claim_id)
where c.conversation_id = u.conversation_id and c.claim_id = u.claim_id
returning c.conversation_id`;

export const releaseSql = `
delete from claim c using unnest($1::text[], $2::text[]) as u (conversation_id, claim_id)
where c.conversation_id = u.conversation_id and c.claim_id = u.claim_id`;
