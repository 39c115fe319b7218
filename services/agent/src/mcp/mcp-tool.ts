/** A tool as its server describes it. */
export interface McpTool {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  readOnly: boolean;
  idempotent: boolean;
  /** A reason why models can't be given it, which its schema does not show. */
  unusable?: string;
  /** SHA-256 of what is above, without `unusable`; lists from before it existed lack it. */
  digest?: string;
}
