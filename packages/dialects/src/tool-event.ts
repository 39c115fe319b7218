/** An event of a call of a tool, visible to clients. */
export interface ToolEvent {
  type: 'tool.started' | 'tool.finished';
  /** The id of the call, from the model. */
  id: string;
  name: string;
  /** `ok`, or why the call failed. */
  outcome?: string;
}
