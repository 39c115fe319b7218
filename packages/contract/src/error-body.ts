import { z } from 'zod';

/** The body of every error response (contract §1). */
export const errorBody = z
  .strictObject({
    error: z.strictObject({
      message: z.string().describe('For people; may change'),
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
        .describe("A stable word for programs: one of those listed at the response, or a provider's own"),
      param: z.string().nullable().describe('The offending field, such as `messages[0].role`'),
      request_id: z.string().describe('Leads to the log line; the same as `x-request-id`'),
    }),
  })
  .describe('The one shape of all errors');
