import { describe, expect, it } from '@jest/globals';
import { poolOptions } from './pools.ts';

describe('a pool that tenants wait for', () => {
  it('has at least three connections', () => {
    const sizes = [1, 2, 3, 10].map((max) => poolOptions({ role: 'chat_app', waits: 'tenants', max }).max);
    expect(sizes).toEqual([3, 3, 3, 10]);
  });

  it('is the only one with a role that sees one tenant at a time', () => {
    for (const waits of ['unproved', 'all'] as const)
      expect(() => poolOptions({ role: 'chat_app', waits, max: 5 })).toThrow(`not '${waits}'`);
    expect(poolOptions({ role: 'chat_system', waits: 'all', max: 1 })).toEqual({
      role: 'chat_system',
      max: 1,
    });
  });

  it('is the only one with a share per tenant', () => {
    expect(() => poolOptions({ role: 'chat_system', waits: 'all', max: 5, perTenant: 1 })).toThrow(`'all'`);
  });
});
