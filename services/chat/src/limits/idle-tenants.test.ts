import { expect, it } from '@jest/globals';
import { idleLooked } from '../bounds.ts';
import { IdleTenants } from './idle-tenants.ts';

it('looks at as many tenants at a time as have a bounded number of subjects, in turns', () => {
  let looked: string[] = [];
  const idle = new Set(['1', '4']);
  const names = ['0', '1', '2', '3', '4'];
  const tenants = new Map(
    names.map((name) => {
      const forgetIdle = (): boolean => looked.push(name) > 0 && idle.has(name);
      return [name, { size: idleLooked / 2, forgetIdle }] as const;
    }),
  );
  const idleTenants = new IdleTenants(tenants);
  const rounds = Array.from({ length: 5 }, () => {
    looked = [];
    idleTenants.forget();
    return looked;
  });
  expect(rounds).toEqual([['0', '1'], ['2', '3'], ['4'], ['0', '2'], ['3']]);
  expect([...tenants.keys()]).toEqual(['0', '2', '3']);
});
