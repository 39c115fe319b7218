/** An operation of the API, as far as a command needs to know it. */
export interface Operation {
  /** Its id in the OpenAPI document: the words of its command, `agents.create`. */
  id: string;
  method: string;
  path: string;
  summary: string;
  /** Parameters in the path, in its order. */
  pathParameters: Parameter[];
  queryParameters: Parameter[];
  /** The members of a JSON body; absent without one. */
  body?: Parameter[];
  /** Whether a repeat with the same `Idempotency-Key` gets the first answer. */
  idempotencyKey: boolean;
  /** Whether it may be asked on behalf of a user. */
  actingUser: boolean;
  /** Text is streamed: lines of CSV or JSON. */
  answer: 'json' | 'text';
  /** Whether it is a list, with all its pages available as CSV. */
  asCsv: boolean;
  /** Members of a JSON body with the meaning of sets, like `tools.builtin`: the order of their values means nothing. */
  sets: string[];
}

export interface Parameter {
  name: string;
  description: string;
  required: boolean;
  /** How a text of the command line becomes a value. */
  type: 'string' | 'time' | 'number' | 'boolean' | 'strings' | 'json';
  /** The possible values, if they are few. */
  values?: string[];
  /** The members of an object, as YAML: `{usd: "12.50", period: month|day}`. */
  members?: string;
  /** The gateway's value for an absent parameter. */
  default?: string | number | boolean;
}

interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  format?: string;
  enum?: unknown[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  default?: unknown;
  'x-list-type'?: 'set';
}

interface DocumentParameter {
  $ref?: string;
  name: string;
  in: string;
  description?: string;
  required?: boolean;
  schema?: Schema;
}

interface DocumentOperation {
  operationId?: string;
  summary?: string;
  description?: string;
  security?: object[];
  parameters?: DocumentParameter[];
  requestBody?: { content?: Record<string, { schema?: Schema }> };
  responses?: Record<string, { content?: Record<string, unknown> }>;
  'x-acting-user'?: boolean;
}

export interface OpenApiDocument {
  paths: Record<string, Record<string, DocumentOperation>>;
  components?: object;
}

/** In the formats of providers: their own SDKs ask them, and `gatehouse chat`. */
const providerRoutes =
  /^(chat|embeddings|moderations|messages|gemini|azure)\.|^responses\.(create|compact|input_tokens)$/;
/** Types of text written by commands as it comes. */
const lines = new Set(['text/csv', 'application/x-ndjson']);
/** Operations for programs, or with commands written by hand. */
const others = /^(whoami|health|hello|openapi|traces\.follow|memory\.search)$/;

/**
 * Operations with a generated command: open to keys, with a body of JSON or without one, and a response of JSON, lines
 * of text or nothing.
 */
export function operationsOf(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const { operationId: id = '', security, requestBody } = operation;
      const isForKeys = security === undefined || security.some((scheme) => 'bearer' in scheme);
      const answer = answerOf(operation);
      const isFit = takesJson(requestBody ?? {}) && answer !== null;
      if (id === '' || !isForKeys || !isFit || providerRoutes.test(id) || others.test(id)) return [];
      return [operationOf(document, { id, method, path, operation, answer })];
    }),
  );
}

/** Null for an answer unfit for commands, like events. */
function answerOf(operation: DocumentOperation): Operation['answer'] | null {
  const successes = successesOf(operation);
  if (successes.every(takesJson)) return 'json';
  return successes.every(({ content = {} }) => Object.keys(content).every((type) => lines.has(type)))
    ? 'text'
    : null;
}

function successesOf({ responses = {} }: DocumentOperation): { content?: Record<string, unknown> }[] {
  return Object.entries(responses).flatMap(([status, answer]) => (status.startsWith('2') ? [answer] : []));
}

/** Whether a body may be JSON, or is absent. */
function takesJson({ content }: { content?: Record<string, unknown> }): boolean {
  return content === undefined || Object.hasOwn(content, 'application/json');
}

function takesCsv({ content }: { content?: Record<string, unknown> }): boolean {
  return content !== undefined && Object.hasOwn(content, 'text/csv');
}

interface DocumentedOperation extends Pick<Operation, 'id' | 'method' | 'path' | 'answer'> {
  operation: DocumentOperation;
}

function operationOf(
  document: OpenApiDocument,
  { id, method, path, operation, answer }: DocumentedOperation,
): Operation {
  const parameters = (operation.parameters ?? []).map((parameter) => resolved(document, parameter));
  const schema = operation.requestBody?.content?.['application/json']?.schema;
  const parametersIn = (place: string): Parameter[] =>
    parameters
      .filter((parameter) => parameter.in === place)
      .map((parameter) => parameterOf(document, parameter.name, parameter));
  return {
    id,
    method: method.toUpperCase(),
    path,
    summary: operation.summary ?? '',
    pathParameters: parametersIn('path'),
    // Commands write lists without a mark.
    queryParameters: parametersIn('query').filter(({ name }) => name !== 'bom' || answer === 'text'),
    ...(schema !== undefined && { body: membersOf(document, schema) }),
    idempotencyKey: parameters.some(({ name }) => name === 'Idempotency-Key'),
    actingUser: operation['x-acting-user'] === true,
    answer,
    asCsv: answer === 'json' && successesOf(operation).some(takesCsv),
    sets: schema === undefined ? [] : setsOf(document, schema),
  };
}

function resolved<Part extends { $ref?: string }>(document: OpenApiDocument, part: Part): Part {
  if (part.$ref === undefined) return part;
  let target: unknown = document;
  for (const name of part.$ref.split('/').slice(1)) target = (target as Record<string, unknown>)[name];
  return resolved(document, target as Part);
}

/** Members of all possible forms of the body. */
function membersOf(document: OpenApiDocument, reference: Schema): Parameter[] {
  const schema = resolved(document, reference);
  const forms = schema.allOf ?? schema.oneOf ?? schema.anyOf;
  const all = new Map<string, Parameter>();
  for (const form of forms ?? [])
    for (const member of membersOf(document, form)) all.set(member.name, member);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const required = schema.required?.includes(name) === true;
    all.set(name, parameterOf(document, name, { schema: property, required }));
  }
  return [...all.values()];
}

/** Paths of the sets in a schema. */
function setsOf(document: OpenApiDocument, schema: Schema, path: readonly string[] = []): string[] {
  const { properties = {}, ...resolvedSchema } = resolved(document, schema);
  const { allOf = [], oneOf = [], anyOf = [] } = resolvedSchema;
  return [
    ...(resolvedSchema['x-list-type'] === 'set' ? [path.join('.')] : []),
    ...[...allOf, ...oneOf, ...anyOf].flatMap((form) => setsOf(document, form, path)),
    ...Object.entries(properties).flatMap(([name, part]) => setsOf(document, part, [...path, name])),
  ];
}

function parameterOf(
  document: OpenApiDocument,
  name: string,
  { schema: reference = {}, description, required = false }: Omit<DocumentParameter, 'in' | 'name'>,
): Parameter {
  const schema = resolved(document, reference);
  const values = textsOf(document, schema);
  return {
    name,
    description: firstSentence(description ?? schema.description ?? ''),
    required,
    type: typeOf(document, schema),
    ...(values.length > 0 && { values }),
    ...membersTextOf(document, schema),
    ...(isScalar(schema.default) && { default: schema.default }),
  };
}

/** The members of an object, unless it has several forms or names of any kind. */
function membersTextOf(document: OpenApiDocument, schema: Schema): { members?: string } {
  const entries = Object.entries(onlyForm(document, schema)?.properties ?? {});
  if (entries.length === 0) return {};
  const members = entries.map(([name, part]) => `${name}: ${valueTextOf(document, part)}`);
  return { members: `{${members.join(', ')}}` };
}

/** The only form of a value, apart from null. */
function onlyForm(document: OpenApiDocument, schema: Schema): Schema | undefined {
  const forms = (schema.anyOf ?? [schema]).map((form) => resolved(document, form));
  const [form, ...others] = forms.filter(({ type }) => type !== 'null');
  return others.length === 0 ? form : undefined;
}

/** The possible texts of a value, if they are listed. */
function textsOf(document: OpenApiDocument, schema: Schema): string[] {
  return (onlyForm(document, schema)?.enum ?? []).filter((value) => typeof value === 'string');
}

function valueTextOf(document: OpenApiDocument, reference: Schema): string {
  const schema = resolved(document, reference);
  const values = textsOf(document, schema);
  if (values.length > 0) return values.join('|');
  switch (typeOf(document, schema)) {
    case 'number':
      return '1';
    case 'boolean':
      return 'true|false';
    case 'strings':
      return '["…"]';
    case 'json':
      return '{…}';
    default:
      return '"…"';
  }
}

/** Forms of more than one kind are given as JSON, except where the others are null. */
function typeOf(document: OpenApiDocument, schema: Schema): Parameter['type'] {
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined) {
    const types = new Set(
      forms
        .map((form) => resolved(document, form))
        .filter((form) => form.type !== 'null')
        .map((form) => typeOf(document, form)),
    );
    return types.size === 1 ? ([...types][0] ?? 'json') : 'json';
  }
  const types = [schema.type ?? []].flat().filter((type) => type !== 'null');
  if (types.length !== 1) return schema.enum === undefined ? 'json' : 'string';
  switch (types[0]) {
    case 'string':
      return schema.format === 'date-time' ? 'time' : 'string';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'array':
      return typeOf(document, resolved(document, schema.items ?? {})) === 'string' ? 'strings' : 'json';
    default:
      return 'json';
  }
}

function isScalar(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

function firstSentence(text: string): string {
  return /^.*?[.:](?=\s|$)/s.exec(text)?.[0].replace(/[.:]$/, '') ?? text;
}
