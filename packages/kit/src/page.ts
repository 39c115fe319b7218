/** Size limit of a page in bytes, for rows as read and for items as sent. */
export const pageBytes = 4 * 1024 * 1024;

/** Rows of a page, and whether more rows follow. */
export interface PageRows<Row> {
  rows: Row[];
  more: boolean;
}

export interface PageRequest {
  limit: number;
  /** Continue below this id; null for the first page. */
  before: string | null;
}
