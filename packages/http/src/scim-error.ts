import type { AppError, ErrorCode } from '@gatehouse/kit/errors';

/** The schema of errors (RFC 7644, section 3.12). */
const schema = 'urn:ietf:params:scim:api:messages:2.0:Error';

/** SCIM's kinds of errors, by code. */
const kinds: Partial<Record<ErrorCode, string>> = {
  ...{ invalid_json: 'invalidSyntax', invalid_type: 'invalidSyntax', invalid_value: 'invalidValue' },
  user_name_taken: 'uniqueness',
};
/** The kinds of errors about parts of a request. */
const kindsOfParts: ReadonlyMap<string | null, string> = new Map(
  Object.entries({
    ...{ filter: 'invalidFilter', path: 'invalidPath' },
    ...{ Operations: 'invalidSyntax', results: 'tooMany' },
  }),
);

/** The body of an error as SCIM has it. */
export function scimError({ status, code, param, message }: AppError): object {
  const scimType = (status === 400 ? kindsOfParts.get(param) : undefined) ?? kinds[code];
  return {
    ...{ schemas: [schema], status: String(status) },
    ...(scimType !== undefined && { scimType }),
    detail: message,
  };
}
