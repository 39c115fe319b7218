/** One event of a stream; a JSON document except for `done`. */
export interface Frame {
  kind: 'role' | 'content' | 'finish' | 'usage' | 'done';
  data: string;
  carriesUsage: boolean;
}
