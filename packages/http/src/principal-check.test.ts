import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Access, Route } from '@gatehouse/contract/routes';
import { anonymous } from '@gatehouse/identity/principal';
import type { Signer } from '@gatehouse/identity/signer';
import { Verifier } from '@gatehouse/identity/verifier';
import { makePrincipal, testIdentity, type TestIdentity } from '@gatehouse/test/identity';
import { checkExchange, checkPrincipal, type Exchange } from './principal-check.ts';

/** The same check of a request over a connection, and of one from the edge of this process. */

let identity: TestIdentity;
let edge: Signer;
let verifier: Verifier;
beforeAll(async () => {
  identity = await testIdentity();
  edge = await identity.signer('edge');
  verifier = await Verifier.create(identity.publicKeys);
});

const routeWith = (access: Access): Route => ({ id: 'x.y', access }) as Route;
const handed = (route: Route, assertion: Exchange['assertion']): Exchange =>
  ({ route, assertion }) as unknown as Exchange;
const overWire = async (route: Route, assertion: Promise<string>): ReturnType<typeof checkPrincipal> => {
  const headers = { 'x-gatehouse-assertion': await assertion };
  return checkPrincipal({ headers } as never, route, verifier);
};
const failing = (code: string) => expect.objectContaining({ code });
const refused = failing('service_unauthenticated');
const lacking = failing('scope_missing');

describe('a route without a key', () => {
  it.each<[string, Access]>([
    ['of a ticket', { kind: 'ticket', headers: [] }],
    ['with a signature of its own', { kind: 'signed', headers: [] }],
  ])('%s takes no principal', async (_name, access) => {
    const route = routeWith(access);
    const principal = makePrincipal();
    await expect(overWire(route, edge.assertion(principal))).rejects.toEqual(refused);
    expect(() => checkExchange(handed(route, edge.localAssertion(principal)))).toThrow(refused);
    expect((await overWire(route, edge.anonymous('x.y'))).principal).toEqual(anonymous);
    expect(checkExchange(handed(route, edge.localAnonymous('x.y'))).principal).toEqual(anonymous);
    await expect(overWire(route, edge.anonymous('x.z'))).rejects.toEqual(refused);
    expect(() => checkExchange(handed(route, edge.localAnonymous('x.z')))).toThrow(refused);
  });

  it('takes one of a ticket with a scope', async () => {
    const route = routeWith({ kind: 'ticket', headers: [], scope: 'channels.write' });
    const principal = makePrincipal();
    expect((await overWire(route, edge.assertion(principal))).principal).toEqual(principal);
    expect(checkExchange(handed(route, edge.localAssertion(principal))).principal).toEqual(principal);
    const user = makePrincipal({ role: 'user' });
    await expect(overWire(route, edge.assertion(user))).rejects.toEqual(lacking);
    expect(() => checkExchange(handed(route, edge.localAssertion(user)))).toThrow(lacking);
  });
});
