import { render } from 'preact';
import { App } from './shell/app.tsx';
import { applyTheme, storedTheme } from './shell/theme.ts';

const root = document.getElementById('app');
if (root === null) throw new Error('the document has no element for the pages');
applyTheme(storedTheme());
render(<App />, root);

// A browser going back can show a page as it was left, also after a logout. Loaded again, it leads to the login.
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return;
  render(null, root);
  location.reload();
});
