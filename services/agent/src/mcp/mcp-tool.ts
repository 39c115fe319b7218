/** A tool as its server describes it. */
export interface McpTool {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  readOnly: boolean;
  idempotent: boolean;
  /** Of all of that; lists from before it existed lack it. */
  digest?: string;
}

/** Offered for the tools of a server to users without a login there, so that a model learns what is missing. */
export const connectTool: McpTool = {
  name: 'connect',
  description: 'Returns what the user must do before the tools of this server can be used.',
  inputSchema: { type: 'object', properties: {} },
  readOnly: true,
  idempotent: true,
};
