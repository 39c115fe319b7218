export interface TenantCacheOptions<Value> {
  /** Bytes of all values, of which a tenant gets a part. */
  maxBytes: number;
  maxBytesPerTenant: number;
  bytesOf: (value: Value) => number;
}

/** Overhead of an entry in bytes, without key and value; so the bytes limit the number of entries too. */
const entryBytes = 500;

interface TenantEntries<Value> {
  bytes: number;
  /** The least recently used comes first. */
  entries: Map<string, { value: Value; bytes: number }>;
}

/**
 * Keeps values of tenants within a limit of bytes. A tenant beyond its part loses its own least recently used values.
 * If all bytes are in use, the tenant with the most bytes makes room: others keep theirs.
 */
export class TenantCache<Value> {
  readonly #options: TenantCacheOptions<Value>;
  readonly #tenants = new Map<string, TenantEntries<Value>>();
  #bytes = 0;

  constructor(options: TenantCacheOptions<Value>) {
    this.#options = options;
  }

  /** Bytes of all values, with the overhead of entries. */
  get bytes(): number {
    return this.#bytes;
  }

  *values(): Generator<Value> {
    for (const { entries } of this.#tenants.values()) for (const { value } of entries.values()) yield value;
  }

  get(tenantId: string, key: string): Value | undefined {
    const entries = this.#tenants.get(tenantId)?.entries;
    const entry = entries?.get(key);
    if (entries === undefined || entry === undefined) return undefined;
    entries.delete(key);
    entries.set(key, entry);
    return entry.value;
  }

  /** Keeps a value, unless it is larger than the part of a tenant. */
  set(tenantId: string, key: string, value: Value): void {
    const { maxBytes, maxBytesPerTenant, bytesOf } = this.#options;
    this.delete(tenantId, key);
    const bytes = entryBytes + 2 * key.length + bytesOf(value);
    if (bytes > maxBytesPerTenant) return;
    this.#makeRoom(tenantId, maxBytesPerTenant - bytes);
    while (this.#bytes + bytes > maxBytes) {
      const largest = this.#largest();
      if (largest === undefined) return;
      this.#removeOldest(largest);
    }
    const held = this.#tenants.get(tenantId) ?? { bytes: 0, entries: new Map() };
    this.#tenants.set(tenantId, held);
    held.entries.set(key, { value, bytes });
    held.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Leaves a tenant `mostBytes`. */
  #makeRoom(tenantId: string, mostBytes: number): void {
    while ((this.#tenants.get(tenantId)?.bytes ?? 0) > mostBytes) this.#removeOldest(tenantId);
  }

  #largest(): string | undefined {
    let [largest, most] = [undefined as string | undefined, 0];
    for (const [tenantId, { bytes }] of this.#tenants) if (bytes > most) [largest, most] = [tenantId, bytes];
    return largest;
  }

  #removeOldest(tenantId: string): void {
    const [oldest] = this.#tenants.get(tenantId)?.entries.keys() ?? [];
    if (oldest !== undefined) this.delete(tenantId, oldest);
  }

  delete(tenantId: string, key: string): void {
    const held = this.#tenants.get(tenantId);
    const entry = held?.entries.get(key);
    if (held === undefined || entry === undefined) return;
    held.entries.delete(key);
    held.bytes -= entry.bytes;
    this.#bytes -= entry.bytes;
    if (held.entries.size === 0) this.#tenants.delete(tenantId);
  }
}
