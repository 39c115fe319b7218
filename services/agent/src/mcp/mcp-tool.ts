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
