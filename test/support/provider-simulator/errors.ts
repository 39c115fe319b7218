/** The four members of the OpenAI error object; other providers send numbers as `code`. */
export interface WireError {
  message: string;
  type: string | null;
  param: string | null;
  code: string | number | null;
}

/** Thrown for an invalid request; the server returns it as an OpenAI error object. */
export class RefusedRequest extends Error {
  readonly status: number;
  readonly param: string | null;
  readonly code: string | null;

  constructor(message: string, details: { status?: number; param?: string; code?: string } = {}) {
    super(message);
    this.name = 'RefusedRequest';
    this.status = details.status ?? 400;
    this.param = details.param ?? null;
    this.code = details.code ?? null;
  }

  toWire(): WireError {
    return { message: this.message, type: 'invalid_request_error', param: this.param, code: this.code };
  }
}

/** The error of OpenAI for a status, if a fault does not set its text. */
export function defaultErrorFor(status: number): WireError {
  const error = (message: string, type: string, code: string | null): WireError => ({
    message,
    type,
    param: null,
    code,
  });
  if (status === 401) return error('Incorrect API key provided.', 'invalid_request_error', 'invalid_api_key');
  if (status === 403) return error('You do not have access to this model.', 'invalid_request_error', null);
  if (status === 404) return error('The model does not exist.', 'invalid_request_error', 'model_not_found');
  if (status === 429) return error('Rate limit reached for requests.', 'requests', 'rate_limit_exceeded');
  if (status === 503) return error('The engine is currently overloaded.', 'server_error', null);
  if (status >= 500)
    return error('The server had an error while processing your request.', 'server_error', null);
  return error(`The simulator is set to answer ${status}.`, 'invalid_request_error', null);
}

export function errorBody(error: WireError): string {
  return JSON.stringify({ error });
}
