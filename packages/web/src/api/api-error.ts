/** An error response of the API, or no response at all. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** 0 without an answer. */
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  /** The field with the mistake, such as `replies.failure`; null for others. */
  readonly param: string | null;

  constructor(
    message: string,
    {
      status = 0,
      code = 'unreachable',
      requestId = null,
      param = null,
    }: Partial<Omit<ApiError, keyof Error>> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.param = param;
  }
}

/** The error of a field without a readable value, like the API's. */
export function unreadable(param: string, message: string): ApiError {
  return new ApiError(message, { status: 400, code: 'invalid_value', param });
}

/** The error of a response, in the words of the API. */
export async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id');
  const text = await response.text();
  return errorIn(text, { status: response.status, requestId });
}

/** The error in a text of JSON, which something before the gateway may have written. */
export function errorIn(
  text: string,
  { status, requestId }: { status: number; requestId: string | null },
): ApiError {
  const { error } = parsed(text);
  return new ApiError(error?.message ?? `The gateway answered ${status} without a message.`, {
    status,
    code: error?.code ?? 'unknown',
    requestId: error?.request_id ?? requestId,
    param: error?.param ?? null,
  });
}

interface ErrorBody {
  error?: { message?: string; code?: string; param?: string | null; request_id?: string };
}

function parsed(text: string): ErrorBody {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : {};
  } catch {
    return {};
  }
}

/** Whether an error says nothing was done. Others may hide an effect, also those of proxies. */
export function isRefusal({ status, code }: ApiError): boolean {
  return status >= 400 && status < 500 && code !== 'idempotency_in_progress';
}
