/** Bounds of the pages. */

/** Rows of a table, and runs of a followed list; files have all rows. */
export const mostRows = 200;
/** Entities of a drawing: more would be a blot, and the tables beside it have all. */
export const mostDrawn = 150;
/** Names of agents, keys or tenants that a page looks up: five pages of a list. */
export const mostNames = 1_000;
/** Groups of a chart with a colour of their own. */
export const mostColours = 8;
/** Figures beside the chosen bar of a chart. */
export const mostFigures = 12;
/** The newest messages of a run; earlier ones are behind a button. */
export const mostMessages = 20;
/** Between two looks at the progress of a deletion. */
export const progressMs = 2_000;
