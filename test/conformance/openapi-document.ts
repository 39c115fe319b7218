import { scopesOf, type Scope } from '@gatehouse/contract/scopes';
import { errorCode } from '@gatehouse/test/error-code';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

/** The parts of our OpenAPI document that tests read. */
export interface OpenApiDocument {
  paths: Record<string, Record<string, Omit<Operation, 'method' | 'path'>>>;
  components: { parameters: Record<string, Parameter>; headers: Record<string, Header> };
}

export interface Operation {
  method: string;
  path: string;
  operationId: string;
  security?: Record<string, unknown>[];
  'x-required-scope'?: Scope;
  'x-also-required-scope'?: Scope;
  'x-required-role'?: 'owner' | 'admin';
  parameters: (Parameter | Reference)[];
  requestBody?: { content: Record<string, { examples: Record<string, { value: unknown }> }> };
  responses: Record<string, DocumentedResponse>;
}

interface DocumentedResponse {
  description: string;
  headers: Record<string, Reference | Header>;
  content?: Record<string, { schema?: object }>;
}

interface Reference {
  $ref: string;
}

interface Header {
  required?: boolean;
  schema: { type: string };
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: { format?: string };
  example?: unknown;
}

/** An answer, as far as a document can describe it. */
export interface Answered {
  status: number;
  headers: Headers;
  /** Parsed, if it is JSON. */
  body: unknown;
}

export function operationsOf(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );
}

/** The parameters of an operation that are given a place in its path or query. */
export function ownParameters({ parameters }: Operation): Parameter[] {
  return parameters.filter((parameter): parameter is Parameter => !('$ref' in parameter));
}

/** The lowest role whose keys an operation takes; null for none. */
export function roleFor(operation: Operation): 'owner' | 'admin' | 'user' | null {
  if (operation.security?.every((way) => 'session' in way) === true) return null;
  const role = operation['x-required-role'];
  if (role !== undefined) return role;
  const needed = [operation['x-required-scope'], operation['x-also-required-scope']];
  return needed.every((scope) => scope === undefined || scopesOf('user').includes(scope)) ? 'user' : 'admin';
}

/** Says what is not as the document has it; empty when all is. */
export class DocumentCheck {
  readonly #document: OpenApiDocument;
  readonly #ajv = new Ajv2020({ allErrors: true, strict: false });

  constructor(document: OpenApiDocument) {
    this.#document = document;
    formats.default(this.#ajv);
    this.#ajv.addSchema(document, 'document');
  }

  problems(operation: Operation, answered: Answered): string[] {
    const at = `${operation.operationId} answered ${answered.status}`;
    const documented = operation.responses[String(answered.status)];
    if (documented === undefined) return [`${at}, which is not documented: ${JSON.stringify(answered.body)}`];
    return [
      ...this.#headerProblems(documented, answered),
      ...this.#bodyProblems(operation, documented, answered),
      ...codeProblems(documented, answered),
    ].map((problem) => `${at}: ${problem}`);
  }

  #headerProblems({ headers }: DocumentedResponse, answered: Answered): string[] {
    return Object.entries(headers).flatMap(([name, header]) => {
      const value = answered.headers.get(name);
      const { required = false, schema } =
        'schema' in header
          ? header
          : (this.#document.components.headers[name] ?? { schema: { type: 'none' } });
      if (value === null) return required ? [`the header ${name} is missing`] : [];
      const valid = this.#ajv.validate(schema, schema.type === 'integer' ? Number(value) : value);
      return valid ? [] : [`the header ${name}: ${value} is not as documented`];
    });
  }

  #bodyProblems(operation: Operation, { content }: DocumentedResponse, answered: Answered): string[] {
    const type = answered.headers.get('content-type')?.split(';')[0] ?? null;
    if (content === undefined) return type === null ? [] : [`there should be no body, but it is ${type}`];
    const media = type === null ? undefined : content[type];
    if (type === null || media === undefined) return [`the content type ${type ?? 'none'} is not documented`];
    // A stream of events has none.
    if (media.schema === undefined) return [];
    const pointer = ['paths', operation.path, operation.method.toLowerCase(), 'responses', answered.status]
      .concat('content', type, 'schema')
      .map((part) => encodeURIComponent(String(part).replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/');
    const validate = this.#ajv.getSchema(`document#/${pointer}`);
    if (validate === undefined) return [`there is no schema at ${pointer}`];
    return validate(answered.body) === true
      ? []
      : [this.#ajv.errorsText(validate.errors, { dataVar: 'body' })];
  }
}

/** An error's code is one of those that its response lists. */
function codeProblems({ description }: DocumentedResponse, { status, body }: Answered): string[] {
  const code = status < 400 ? undefined : errorCode(body);
  return code === undefined || description.includes(`\`${code}\``)
    ? []
    : [`the code ${code} is not documented`];
}
