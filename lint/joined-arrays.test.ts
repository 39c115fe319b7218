import { expect, it } from '@jest/globals';
import { joinedArrays } from './statements.ts';

const found = (statement: string) => joinedArrays(`db.query(\`${statement}\`)`).length;

it.each([
  `update memory.postings as p set entries = new.entries from unnest($1::bigint[]) as new (term) where p.term = new.term`,
  `select 1 from unnest($1::text[]) as staged (path)\n join memory.documents as d on d.path = staged.path`,
  `select 1 from unnest($1::text[], $2::uuid[]) with ordinality as r (id, name) left join \${table} as t on t.id = r.id`,
  `select 1 from memory.chunks as c join unnest($1::integer[]) as new (number) using (number)`,
  `select 1 from webhook.call_keys where (kind, digest) in (select k, d from unnest($1::text[], $2::bytea[]) as given (k, d))`,
])('reports %s', (statement) => {
  expect(found(statement)).toBe(1);
});

it.each([
  `insert into memory.postings as p (term) select term from unnest($1::bigint[]) as new (term) on conflict (term) do update set entries = excluded.entries`,
  `select 1 from unnest($1::text[]) as staged (path) cross join lateral (select 1 from memory.documents limit 1) as d`,
  `select 1 from unnest($1::uuid[]) as kept (run_id) join ended on ended.id = kept.run_id`,
  `update chat.runs r set attempts = i.attempts from alive, unnest($1::uuid[], $2::text[]) as i (id, attempts) where r.id = i.id and r.id = any($1::uuid[])`,
  `update chat.run_log set runs = array (select t.run from unnest(start_ids, runs) as t (id, run)) where $1 = any(start_ids)`,
  `select 1 from memory.agents as a cross join unnest($1::text[]) as staged (path)`,
])('accepts %s', (statement) => {
  expect(found(statement)).toBe(0);
});
