/** One request and its response, for the documentation. Tests hold both to the route's shapes and replay them. */
export interface Example {
  summary: string;
  /** Parameters of the path. */
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number>>;
  body?: unknown;
  /** The JSON of the response; absent where there is none. */
  response?: unknown;
  /** The response as server-sent events instead. */
  events?: string;
}

/** The examples of one route, by their names in the document. */
export type Examples = Readonly<Record<string, Example>>;
