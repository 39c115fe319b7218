import type { Principal } from './principal.ts';

/** The content of an assertion: the principal of a request or, for a request without a key, its route. */
export type Statement = { principal: Principal } | { anonymousRoute: string };

/**
 * An assertion inside the process of the service making it. No header and no message can contain this object, so it
 * needs no signature; {@link tokenOf} signs it for other processes.
 */
export class LocalAssertion {
  readonly issuer: string;
  readonly statement: Readonly<Statement>;
  readonly #sign: () => Promise<string>;

  /** `sign` makes the token of the same statement. */
  constructor(issuer: string, statement: Statement, sign: () => Promise<string>) {
    if ('principal' in statement) freeze(statement.principal);
    this.issuer = issuer;
    this.statement = Object.freeze(statement);
    this.#sign = sign;
  }

  /** A fresh token, since one is valid for a minute only. */
  token(): Promise<string> {
    return this.#sign();
  }
}

/** An assertion as a service passes it on: the received token, or an object of its own process. */
export type Assertion = string | LocalAssertion;

/** An assertion as a token, for another process. */
export function tokenOf(assertion: Assertion): string | Promise<string> {
  return typeof assertion === 'string' ? assertion : assertion.token();
}

/** Every service of the process gets the same object. */
function freeze(principal: Principal): void {
  Object.freeze(principal.scopes);
  Object.freeze(principal);
}
