/** A tool as its server describes it. */
export interface McpTool {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  readOnly: boolean;
  idempotent: boolean;
  /** The reason why models can't be given it; null if they can. Lists from before tools were judged lack it. */
  unusable?: string | null;
  /** SHA-256 of what is above, without `unusable`; lists from before it existed lack it. */
  digest?: string;
}
