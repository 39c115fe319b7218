import { z } from 'zod';

const message = z.string().describe('For humans; the text may change');
const code = z
  .string()
  .describe("A stable code for programs: one of those listed for the response, or the provider's own");
const param = z.string().nullable().describe('The field that caused the error, such as `messages[0].role`');
const requestId = z.string().describe('Identifies the request in logs; the same as `x-request-id`');

/** The body of every error response. */
export const errorBody = z
  .strictObject({
    error: z.strictObject({
      message,
      type: z.enum([
        'invalid_request_error',
        'authentication_error',
        'permission_error',
        'rate_limit_error',
        'insufficient_quota',
        'api_error',
        'unavailable_error',
        'timeout_error',
      ]),
      code,
      param,
      request_id: requestId,
    }),
  })
  .describe('The body of an error response');

/** The body of an error for clients of Anthropic's API (https://docs.claude.com/en/api/errors). */
export const anthropicErrorBody = z
  .strictObject({
    type: z.literal('error'),
    error: z.strictObject({
      type: z.enum([
        'invalid_request_error',
        'authentication_error',
        'billing_error',
        'permission_error',
        'not_found_error',
        'request_too_large',
        'rate_limit_error',
        'api_error',
        'timeout_error',
        'overloaded_error',
      ]),
      message,
      details: z.strictObject({ error_code: code, param }),
    }),
    request_id: requestId,
  })
  .describe("The body of an error for clients of Anthropic's API");

/** The body of an error of a provider, as it wrote it. */
export const providerErrorBody = z.looseObject({}).describe("A provider's own error");

function detail(type: string, fields: z.ZodRawShape): z.ZodObject {
  return z.strictObject({ '@type': z.literal(`type.googleapis.com/google.rpc.${type}`), ...fields });
}

/** The body of an error for clients of Google's API (https://google.aip.dev/193). */
export const googleErrorBody = z
  .strictObject({
    error: z.strictObject({
      code: z.int().describe('The HTTP status'),
      message,
      status: z.string().describe("Google's name of the status, such as `NOT_FOUND`"),
      details: z
        .array(
          z.union([
            detail('ErrorInfo', {
              reason: z.string().describe('The code in capitals'),
              metadata: z.strictObject({ param: z.string().optional() }),
            }),
            detail('RequestInfo', { requestId }),
            detail('RetryInfo', { retryDelay: z.string().describe('Seconds to wait, such as `7s`') }),
          ]),
        )
        .describe('`RetryInfo` for 429 and 503 only'),
    }),
  })
  .describe("The body of an error for clients of Google's API");
