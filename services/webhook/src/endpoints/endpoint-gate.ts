import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import type { SealedEndpoint } from './endpoint.ts';
import type { SecretPlace, WebhookSecrets } from '../secrets/webhook-secrets.ts';
import { maySend } from './networks.ts';
import type { Refusals } from '@gatehouse/public-access/refusals';
import type { VerifiableRequest } from '../signatures/schemes.ts';
import { sameText } from '@gatehouse/public-access/same-text';
import { newStandardSecret } from '../signatures/signing-secret.ts';
import { verify, type Genuine } from '../signatures/verify.ts';
import type { Ref } from '../shared/ref.ts';

export interface EndpointGateOptions {
  find: (id: string) => Promise<SealedEndpoint | null>;
  secrets: WebhookSecrets;
  refusals: Refusals;
  /** Whether the operator allows the scheme `token`. */
  allowToken: boolean;
  log: Logger;
}

/** Decides whether requests to endpoints are genuine. */
export class EndpointGate {
  readonly #options: EndpointGateOptions;
  /** Stands for a missing endpoint: its requests are as much work as those of others. */
  readonly #unknown: SealedEndpoint;
  /** Stands for the previous secret of the endpoints without one: no sender knows it. */
  readonly #spare: { place: Ref; sealed: Buffer };

  constructor(options: EndpointGateOptions) {
    this.#options = options;
    const place = { id: newId(), tenantId: newId() };
    this.#spare = { place, sealed: options.secrets.seal(placeOf(place), newStandardSecret()) };
    this.#unknown = {
      ...place,
      scheme: 'standard',
      closed: false,
      secret: this.#spare.sealed,
      previousSecret: null,
      name: '',
      agent_id: '',
      template: null,
      mode: 'sync',
      callback_url: null,
      rate_limit_per_minute: null,
      allowed_cidrs: [],
      enabled: false,
      deliver_to: null,
      header: null,
      encoding: null,
      prefix: null,
    };
  }

  /** The endpoint with an id, if there is one. */
  find(id: string): Promise<SealedEndpoint | null> {
    return this.#options.find(id);
  }

  /**
   * Returns the id of a genuine request, and its endpoint. Throws `signature_invalid`, for whatever reason, and
   * `rate_limit_exceeded` for an address with too many of these failures.
   */
  async check(
    request: VerifiableRequest,
    endpoint: SealedEndpoint | null,
    address: string | null,
  ): Promise<Genuine & { endpoint: SealedEndpoint }> {
    const target = endpoint ?? this.#unknown;
    const genuine = this.#verify(request, target);
    if (endpoint === null || genuine === null || !target.enabled || !maySend(address, target.allowed_cidrs)) {
      const message = 'The endpoint does not exist, or the delivery is not genuine.';
      return this.#options.refusals.refuse(address, message);
    }
    return { ...genuine, endpoint };
  }

  /** The secret; nothing if its key is no longer in the ring: the other secret still counts. */
  #openOrNone(endpoint: Ref, sealed: Buffer): string[] {
    const { secrets, log } = this.#options;
    try {
      return [secrets.open(placeOf(endpoint), sealed)];
    } catch (error) {
      log.error({ err: error, endpoint_id: endpoint.id }, 'failed to decrypt the secret of an endpoint');
      return [];
    }
  }

  #verify(request: VerifiableRequest, { id, tenantId, scheme, ...target }: SealedEndpoint): Genuine | null {
    const nowS = Date.now() / 1_000;
    const spare = this.#openOrNone(this.#spare.place, this.#spare.sealed);
    const previous =
      target.previousSecret === null ? spare : this.#openOrNone({ tenantId, id }, target.previousSecret);
    const secrets = [...this.#openOrNone({ tenantId, id }, target.secret), ...previous];
    if (scheme !== 'token') return verify(request, { ...target, scheme, secrets, nowS });
    // As much work over the body as for the other schemes.
    verify(request, { scheme: 'standard', secrets: [...spare, ...spare], nowS });
    return this.#options.allowToken && hasToken(request, secrets) ? { id: null, idIsSigned: false } : null;
  }
}

const placeOf = (endpoint: Ref): SecretPlace => ({
  ...endpoint,
  table: 'endpoints',
  column: 'secret',
});

function hasToken(request: VerifiableRequest, tokens: readonly string[]): boolean {
  const values = request.header('authorization');
  const [, bearer = ''] = /^bearer +(\S+)$/i.exec(values[0] ?? '') ?? [];
  const matches = tokens.map((token) => sameText(token, bearer));
  return values.length === 1 && matches.includes(true);
}
