import { expect } from '@jest/globals';
import type { UserDataDeletion } from '@gatehouse/contract/users';
import { eventually } from '@gatehouse/test/eventually';
import type { Answer, As } from '@gatehouse/test/service-under-test';
import type { AnswerBody, TenantServiceUnderTest, TestTenant } from './tenant-service.ts';

/** Requests about the data of users, as a tenant's admin makes them. */
export class UserDataClient {
  readonly #service: TenantServiceUnderTest;

  constructor(service: TenantServiceUnderTest) {
    this.#service = service;
  }

  delete(as: As, userId: string): Promise<Answer<AnswerBody>> {
    return this.#service.call('DELETE', `/v1/users/${encodeURIComponent(userId)}/data`, { as });
  }

  get(as: As, userId: string, id: string): Promise<Answer<AnswerBody>> {
    return this.#service.call('GET', `/v1/users/${encodeURIComponent(userId)}/data/deletions/${id}`, { as });
  }

  async start({ admin }: TestTenant, userId: string): Promise<UserDataDeletion> {
    const { status, body } = await this.delete(admin, userId);
    expect(status).toBe(202);
    return body as unknown as UserDataDeletion;
  }

  async read({ admin }: TestTenant, userId: string, id: string): Promise<UserDataDeletion> {
    const { status, body } = await this.get(admin, userId, id);
    expect(status).toBe(200);
    return body as unknown as UserDataDeletion;
  }

  /** Waits until a deletion is completed. */
  async untilCompleted(
    tenant: TestTenant,
    userId: string,
    id: string,
    withinMs = 8_000,
  ): Promise<UserDataDeletion> {
    return eventually(async () => {
      const deletion = await this.read(tenant, userId, id);
      expect(deletion.status).toBe('completed');
      return deletion;
    }, withinMs);
  }
}

/** Statuses by service. */
export function statusesOf({ services }: UserDataDeletion): Record<string, string> {
  return Object.fromEntries(services.map(({ service, status }) => [service, status]));
}
