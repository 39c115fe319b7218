import { describe, expect, it } from '@jest/globals';
import { scopesOf, type Role, type Scope } from '@gatehouse/contract/scopes';
import { listed, pageAt, type Page } from './page.ts';

const person = (role: Role) => ({ role, scopes: [...scopesOf(role)] });
const component = () => null;
const common = { section: 'Monitor', icon: 'list', component } as const;
const pages: readonly Page[] = [
  { path: '/app/', title: 'Overview', needs: { scope: 'analytics.read' }, ...common },
  { path: '/app/keys', title: 'Keys', needs: { scope: 'keys.write' }, ...common },
  { path: '/app/keys/:id', title: 'Key', needs: { scope: 'keys.write' }, ...common },
  { path: '/app/chat', title: 'Chat', needs: { scope: 'chat' }, ...common },
  { path: '/app/data', title: 'Data', needs: { anyScope: ['cookies.write', 'chat'] }, ...common },
  { path: '/app/', title: 'Tenants', needs: { role: 'owner' }, ...common },
];
const titleAt = (path: string, who: Parameters<typeof pageAt>[2]) => pageAt(pages, path, who)?.page.title;

describe('pages', () => {
  it('are those that the session reaches', () => {
    expect(listed(pages, person('admin')).map(({ title }) => title)).toEqual([
      ...['Overview', 'Keys', 'Chat', 'Data'],
    ]);
    expect(listed(pages, person('user')).map(({ title }) => title)).toEqual(['Overview', 'Chat', 'Data']);
    expect(listed(pages, person('owner')).map(({ title }) => title)).toEqual(['Tenants']);
  });

  it('are found by their path, and others are not', () => {
    expect(titleAt('/app/', person('user'))).toBe('Overview');
    expect(titleAt('/app/', person('owner'))).toBe('Tenants');
    expect(titleAt('/app/keys', person('user'))).toBeUndefined();
    expect(titleAt('/app/keys/a/b', person('admin'))).toBeUndefined();
    expect(titleAt('/app/keys/', person('admin'))).toBeUndefined();
    expect(pageAt(pages, '/app/keys/a%20b', person('admin'))).toMatchObject({ id: 'a b' });
  });

  it('may need one of several scopes', () => {
    const titleFor = (scopes: Scope[]) => titleAt('/app/data', { role: 'user', scopes });
    expect([titleFor(['chat']), titleFor(['cookies.write'])]).toEqual(['Data', 'Data']);
    expect([titleFor([]), titleFor(['agents.read'])]).toEqual([undefined, undefined]);
  });

  it('begin with the first one for a session without the overview', () => {
    expect(titleAt('/app/', { role: 'user', scopes: ['chat'] })).toBe('Chat');
  });
});
