import { expect } from '@jest/globals';
import type { User } from '@gatehouse/contract/users';
import type { ResolveUserResponse } from '@gatehouse/proto/tenant/v1/tenant';
import type { Answer } from '@gatehouse/test/service-under-test';
import type { TenantServiceUnderTest, TestTenant } from './tenant-service.ts';

/** Members that resources, lists and errors of SCIM may have. */
export interface ScimBody {
  id: string;
  schemas: string[];
  userName: string;
  externalId: string;
  displayName: string;
  name: Record<string, string>;
  active: boolean;
  emails: { value: string; type?: string; primary?: boolean }[];
  groups: { value: string; display: string }[];
  members: { value: string; display: string }[];
  meta: { resourceType: string; location: string };
  totalResults: number;
  startIndex: number;
  itemsPerPage: number;
  Resources: ScimBody[];
  status: string;
  scimType: string;
  detail: string;
}

const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

/** An identity provider of a tenant, with what tests compare beside it. */
export class ScimClient {
  readonly tenant: TestTenant;
  readonly #service: TenantServiceUnderTest;

  constructor(service: TenantServiceUnderTest, tenant: TestTenant) {
    this.#service = service;
    this.tenant = tenant;
  }

  /** `path`: below `/scim/v2`. */
  async call(method: string, path: string, body?: object): Promise<Answer<ScimBody>> {
    const answer = await this.#service.call(method, `/scim/v2${path}`, {
      as: { ...this.tenant.admin, scopes: ['scim.write'] },
      headers: body === undefined ? {} : { 'content-type': 'application/scim+json; charset=utf-8' },
      ...(body !== undefined && { body }),
    });
    if (answer.status !== 204) expect(answer.headers.get('content-type')).toBe('application/scim+json');
    return { ...answer, body: answer.body as unknown as ScimBody };
  }

  async get(path: string): Promise<ScimBody> {
    const answer = await this.call('GET', path);
    expect(answer).toMatchObject({ status: 200 });
    return answer.body;
  }

  /** The resources that a filter finds. */
  async found(kind: 'Users' | 'Groups', filter: string, more = ''): Promise<ScimBody[]> {
    return (await this.get(`/${kind}?filter=${encodeURIComponent(filter)}${more}`)).Resources;
  }

  async add(kind: 'Users' | 'Groups', body: object): Promise<ScimBody> {
    const answer = await this.call('POST', `/${kind}`, body);
    expect(answer).toMatchObject({ status: 201 });
    return answer.body;
  }

  patch(path: string, ...operations: object[]): Promise<Answer<ScimBody>> {
    return this.call('PATCH', path, { schemas: [patchSchema], Operations: operations });
  }

  /** The user as the API has it. */
  async user(name: string): Promise<User> {
    const answer = await this.#service.call('GET', `/v1/users/${encodeURIComponent(name)}`, {
      as: this.tenant.admin,
    });
    expect(answer).toMatchObject({ status: 200 });
    return answer.body as unknown as User;
  }

  async put(name: string, body: object): Promise<User> {
    const path = `/v1/users/${encodeURIComponent(name)}`;
    const answer = await this.#service.call('PUT', path, { as: this.tenant.admin, body });
    expect([200, 201]).toContain(answer.status);
    return answer.body as unknown as User;
  }

  /** The user with a name, as requests have it. */
  async resolve(name: string): Promise<ResolveUserResponse['user']> {
    const edge = await this.#service.peer('edge');
    return (await edge.call('resolveUser', { tenantId: this.tenant.id, name }, { deadlineMs: 30_000 })).user;
  }
}
