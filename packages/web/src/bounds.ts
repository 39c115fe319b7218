/** Bounds of the pages. */

/** Rows of a table, and runs of a followed list; files have all rows. */
export const mostRows = 200;
/** Entities of a drawing: more would be a blot, and the tables beside it have all. */
export const mostDrawn = 150;
/** Items of a list that is read to its end, for their names or as choices: five pages. */
export const mostNames = 1_000;
/** Groups of a chart with a colour of their own. */
export const mostColours = 8;
/** Figures beside the chosen bar of a chart. */
export const mostFigures = 12;
/** The newest messages of a run; earlier ones are behind a button. */
export const mostMessages = 20;
/** Between two looks at the progress of a deletion. */
export const progressMs = 2_000;
