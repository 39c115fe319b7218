import { z } from 'zod';

/** The body of every error response. */
export const errorBody = z
  .strictObject({
    error: z.strictObject({
      message: z.string().describe('For humans; the text may change'),
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
      code: z
        .string()
        .describe("A stable code for programs: one of those listed for the response, or the provider's own"),
      param: z.string().nullable().describe('The field that caused the error, such as `messages[0].role`'),
      request_id: z.string().describe('Identifies the request in logs; the same as `x-request-id`'),
    }),
  })
  .describe('The body of every error response');
