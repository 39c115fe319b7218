import { idleLooked } from '../bounds.ts';

interface Forgetful {
  /** Subjects to look at. */
  readonly size: number;
  /** Forgets what is not in use. Returns whether nothing is left. */
  forgetIdle: () => boolean;
}

/** Forgets what is not in use. Tenants take turns: one look at all of them would hold up requests. */
export class IdleTenants {
  readonly #tenants: Map<string, Forgetful>;
  /** The rest of the present turn. */
  #looked: Iterator<[string, Forgetful]>;

  constructor(tenants: Map<string, Forgetful>) {
    this.#tenants = tenants;
    this.#looked = tenants.entries();
  }

  /** Looks at some tenants. */
  forget(): void {
    for (let looked = 0; looked < idleLooked;) {
      const next = this.#looked.next();
      if (next.done === true) {
        this.#looked = this.#tenants.entries();
        return;
      }
      const [id, tenant] = next.value;
      looked += 1 + tenant.size;
      if (tenant.forgetIdle()) this.#tenants.delete(id);
    }
  }
}
