import type { Endpoints, List } from './endpoints.ts';

/** Types of the calls of endpoints. */

export type EndpointName = keyof Endpoints;

/** An endpoint with a file as response. */
export type FileName = {
  [Name in EndpointName]: Endpoints[Name]['answer'] extends Blob ? Name : never;
}[EndpointName];

/** An endpoint listing resources page by page. */
export type ListName = {
  [Name in EndpointName]: Endpoints[Name]['answer'] extends List<unknown> ? Name : never;
}[EndpointName];

/** An endpoint with its pages as CSV, too. */
export type CsvName = ListName | 'GET /v1/traces/follow';

export type ItemOf<Name extends ListName> = Endpoints[Name]['answer']['data'][number];

export type AnswerOf<Name extends EndpointName> = Endpoints[Name]['answer'];

/** A name with `+` at its end stands for several segments of the path. */
type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Segments}+` ? Segments : Name) | ParameterOf<Rest>
  : never;

type QueryOf<Endpoint> = Endpoint extends { query: infer Fields }
  ? { query?: Fields }
  : { query?: undefined };
type BodyOf<Endpoint> = Endpoint extends { body: infer Fields } ? { body: Fields } : { body?: undefined };
type ParametersOf<Path extends string> = [ParameterOf<Path>] extends [never]
  ? { params?: undefined }
  : { params: Record<ParameterOf<Path>, string> };

/** The input of a call: parameters of its path, its query and its body. */
export type InputOf<Name extends EndpointName> = ParametersOf<Name> &
  QueryOf<Endpoints[Name]> &
  BodyOf<Endpoints[Name]>;
