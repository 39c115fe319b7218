/** Bounds of the pages. */

/** Rows of a table, and runs of a followed list; files have all rows. */
export const mostRows = 200;
/** Entities of a drawing: more would be a blot, and the tables beside it have all. */
export const mostDrawn = 150;
/** Between two looks at the progress of a deletion. */
export const progressMs = 2_000;
