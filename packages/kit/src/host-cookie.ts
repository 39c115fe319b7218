/**
 * A cookie for one origin: browsers send it to no other host (RFC 6265bis §4.1.3.2). Over http, which is for this
 * machine only, browsers keep it without prefix and `Secure` alone.
 */
export class HostCookie {
  readonly name: string;
  readonly #attributes: string;

  /** `publicUrl`: where clients reach the gateway; empty if it is not known. */
  constructor(name: string, publicUrl: string) {
    const isSecure = !publicUrl.startsWith('http:');
    this.name = isSecure ? `__Host-${name}` : name;
    this.#attributes = `HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  }

  /** All its values in a `Cookie` header; a browser sends one. */
  valuesIn(header: string | undefined): string[] {
    if (header === undefined) return [];
    const prefix = `${this.name}=`;
    return header
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(prefix))
      .map((pair) => pair.slice(prefix.length));
  }

  /** The value of a `Set-Cookie` header. */
  set(value: string, maxAgeSeconds: number): string {
    return `${this.name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; ${this.#attributes}`;
  }

  /** The value of a `Set-Cookie` header to remove it. */
  clear(): string {
    return this.set('', 0);
  }
}
