import { describe, expect, it } from '@jest/globals';
import { beginsWith, literalsOf, matches, normalised } from './literals.ts';

/** The one literal of a source. */
function only(source: string) {
  const [literal, ...others] = literalsOf(source);
  if (literal === undefined || others.length > 0) throw new Error(`${others.length} other literals`);
  return literal;
}

describe('literals of a store', () => {
  it('are its statements and parts of statements, with their lines', () => {
    const source = [
      `import { only } from '@gatehouse/pg/rows';`,
      'const found = `select id from tenant.tenants',
      "   where id = $1 ${lock ? 'for update' : ''}`;",
      `const order = 'order by id';`,
      `function locked(lock: 'for update' | ''): string { return lock; }`,
      `throw new Error('select something else');`,
      `const name = 'limit_reached';`,
    ].join('\n');
    expect(literalsOf(source).map(({ line, pieces }) => [line, ...pieces])).toEqual([
      [2, 'select id from tenant.tenants where id = $1'],
      [3, 'for update'],
      [4, 'order by id'],
      [6, 'select something else'],
    ]);
  });

  it.each([
    ['select id from a.b\n      where id = $1', true],
    ['select id from a.b where id = $1 and key = $2', false],
    ['select id from a.c where id = $1', false],
  ])('given to a client are sent by %j: %j', (sent, isSent) => {
    for (const call of ['db.query(', 'this.tenant(id).first<Row>(']) {
      const literal = only(`${call}\`select id\n from a.b where id = $1\`, [id])`);
      expect(matches(literal, normalised(sent))).toBe(isSent);
    }
  });

  it.each([
    ['select id, key from a.b where id = $1 order by id', true],
    ['select from a.c where x and y order by id', true],
    ['select id from a.b where id = $1 limit 1 order by id', true],
    ['select id from a.b where id = $1', false],
    ['select id from a.b where id = $1 order by id limit 2', false],
    ['update a.b set id = 2 where id = 1 order by id', false],
  ])('with substitutions are sent by %j: %j', (sent, isSent) => {
    const literal = only('db.query(`select ${columns} from ${table}\n where ${condition} order by id`)');
    expect(matches(literal, sent)).toBe(isSent);
    expect(beginsWith(literal, sent)).toBe(isSent);
  });

  it('may end with a substitution', () => {
    const literal = only('db.query(`select id from a.b ${rest}`)');
    expect(matches(literal, 'select id from a.b')).toBe(true);
    expect(matches(literal, 'select id from a.b limit 2')).toBe(true);
  });

  it('that begin no statement are found within one', () => {
    const literal = only('const visible = `where tenant_id = $1 and ${shown}`;');
    expect(matches(literal, 'select id from a.b where tenant_id = $1 and not hidden')).toBe(true);
    expect(matches(literal, 'select id from a.b where tenant_id = $2 and not hidden')).toBe(false);
    expect(beginsWith(literal, 'where tenant_id = $1 and not hidden')).toBe(false);
  });
});
