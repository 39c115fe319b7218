import { retryAfterHeaders } from './retry-after.ts';

/**
 * Every error code a caller can see: `code → [HTTP status, gRPC status]`. The table is closed, so each new code
 * must state both statuses. The HTTP statuses are part of the public API; for the gRPC numbers see
 * https://grpc.io/docs/guides/status-codes/.
 */
const table = {
  invalid_json: [400, 3],
  invalid_type: [400, 3],
  invalid_value: [400, 3],
  missing_required_parameter: [400, 3],
  unknown_parameter: [400, 3],
  invalid_cursor: [400, 3],
  cursor_expired: [400, 3],
  cursor_mismatch: [400, 3],
  acting_user_required: [400, 3],
  dependency_missing: [400, 3],
  embeddings_not_configured: [400, 3],
  unknown_model: [400, 3],
  unknown_mcp_server: [400, 3],
  transport_not_allowed: [400, 3],
  url_not_allowed: [400, 3],
  invalid_pattern: [400, 3],
  pattern_unbounded: [400, 3],
  relay_path_ambiguous: [400, 3],
  provider_bad_request: [400, 3],
  conflicting_credentials: [400, 3],
  content_blocked: [400, 3],
  guardrail_too_slow: [400, 3],
  unsupported_parameter: [400, 3],
  previous_response_not_found: [400, 3],
  item_not_found: [400, 3],
  invalid_encrypted_content: [400, 3],
  invalid_api_key: [401, 16],
  invalid_session: [401, 16],
  service_unauthenticated: [401, 16],
  signature_invalid: [401, 16],
  agent_disabled: [403, 7],
  forbidden_by_policy: [403, 7],
  limit_reached: [403, 7],
  role_missing: [403, 7],
  run_stopped: [403, 7],
  scope_missing: [403, 7],
  tenant_suspended: [403, 7],
  user_blocked: [403, 7],
  user_mismatch: [403, 7],
  user_unknown: [403, 7],
  caller_not_allowed: [403, 7],
  cross_site_request: [403, 7],
  model_unpriced: [403, 7],
  not_accepted: [403, 7],
  relay_forbidden: [403, 7],
  content_not_stored: [404, 5],
  model_not_found: [404, 5],
  not_found: [404, 5],
  provider_not_found: [404, 5],
  route_not_found: [404, 5],
  method_not_allowed: [405, 12],
  request_timeout: [408, 4],
  agent_key_taken: [409, 6],
  idempotency_in_progress: [409, 10],
  idempotency_key_reused: [409, 6],
  key_managed_by_login: [409, 9],
  key_revoked: [409, 9],
  last_owner_key: [409, 9],
  lease_superseded: [409, 9],
  resource_locked: [409, 9],
  run_not_repeatable: [409, 9],
  tenant_slug_taken: [409, 6],
  user_name_taken: [409, 6],
  policy_name_taken: [409, 6],
  guardrail_name_taken: [409, 6],
  mcp_name_taken: [409, 6],
  toolset_name_taken: [409, 6],
  nothing_to_deliver: [409, 9],
  preview_expired: [409, 9],
  preview_stale: [409, 9],
  preview_used: [409, 9],
  secret_unreadable: [409, 9],
  payload_too_large: [413, 11],
  unsupported_media_type: [415, 3],
  mcp_unreachable: [422, 3],
  template_failed: [422, 3],
  provider_unprocessable: [422, 3],
  upgrade_required: [426, 12],
  insufficient_quota: [429, 8],
  provider_rate_limited: [429, 8],
  rate_limit_exceeded: [429, 8],
  too_many_counters: [429, 8],
  client_closed_request: [499, 1],
  internal: [500, 13],
  bad_gateway: [502, 13],
  extraction_failed: [502, 13],
  provider_authentication: [502, 13],
  provider_error: [502, 13],
  provider_key_failing: [502, 13],
  provider_overloaded: [503, 14],
  provider_invalid_response: [502, 13],
  provider_unreachable: [502, 13],
  guardrail_unavailable: [503, 14],
  database_unavailable: [503, 14],
  query_timeout: [503, 14],
  service_unavailable: [503, 14],
  provider_timeout: [504, 4],
  service_timeout: [504, 4],
} as const satisfies Record<string, readonly [http: number, grpc: number]>;

export type ErrorCode = keyof typeof table;

/** The HTTP status of a code. */
export function statusOf(code: ErrorCode): number {
  return table[code][0];
}

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'insufficient_quota'
  | 'api_error'
  | 'unavailable_error'
  | 'timeout_error';

export interface AppErrorOptions {
  /** The field with the error, spelled as in the request: `messages[0].role`. */
  param?: string | undefined;
  /** Extra response headers, lower-case (`allow`). */
  headers?: Record<string, string> | undefined;
  /** The request may be tried again after it: adds `retry-after` and `retry-after-ms`. */
  retryAfterMs?: number | undefined;
  /**
   * The provider's own error code, shown instead of `code`, because clients branch on it (`context_length_exceeded`).
   */
  publicCode?: string | undefined;
  /** JSON for the client in place of ours: a provider's own, for clients of its API. */
  body?: Buffer | undefined;
  cause?: unknown;
}

/** The only error visible to callers. Any other becomes `internal`, with its text hidden. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly headers: Record<string, string>;
  readonly publicCode: string;
  readonly #body: Buffer | null;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.param = options.param ?? null;
    const { headers = {}, retryAfterMs: ms } = options;
    this.headers = ms === undefined ? headers : { ...headers, ...retryAfterHeaders(ms) };
    this.publicCode = options.publicCode ?? code;
    this.#body = options.body ?? null;
  }

  /** Not a property of its own: logs have those. */
  get body(): Buffer | null {
    return this.#body;
  }

  get status(): number {
    return statusOf(this.code);
  }

  get grpcStatus(): number {
    return table[this.code][1];
  }

  get type(): ErrorType {
    return this.code === 'insufficient_quota' ? this.code : errorType(this.status);
  }
}

/** The body of every error response. All four members of an OpenAI error are always present. */
export interface ErrorBody {
  error: { message: string; type: ErrorType; code: string; param: string | null; request_id: string };
}

export function errorType(status: number): ErrorType {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  if (status === 503) return 'unavailable_error';
  if (status === 408 || status === 504) return 'timeout_error';
  return status >= 500 ? 'api_error' : 'invalid_request_error';
}

export function errorBody(error: AppError, requestId: string): ErrorBody {
  return {
    error: {
      message: error.message,
      type: error.type,
      code: error.publicCode,
      param: error.param,
      request_id: requestId,
    },
  };
}

/** The 400 for a value with the right type that can't be taken: `Invalid value for <param>: <reason>.` */
export function invalidValue(param: string, reason: string): AppError {
  return new AppError('invalid_value', `Invalid value for ${param}: ${reason}.`, { param });
}

/** The 403 for a request with a key of an inactive tenant. */
export function tenantNotActive(status: string): AppError {
  return new AppError('tenant_suspended', `The tenant of this API key is ${status}.`);
}

/** Throws `tenantNotActive` for an inactive tenant; `status` is null for anything without a tenant. */
export function assertTenantActive(status: string | null): void {
  if (status !== null && status !== 'active') throw tenantNotActive(status);
}

/** Converts a caught value to an `AppError`. Call it once, at the edge of the process. */
export function toAppError(caught: unknown): AppError {
  if (caught instanceof AppError) return caught;
  return new AppError('internal', 'Internal error. Include the request id when you report it.', {
    cause: caught,
  });
}

export function isErrorCode(value: string): value is ErrorCode {
  return Object.hasOwn(table, value);
}
