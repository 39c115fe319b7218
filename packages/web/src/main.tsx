import { render } from 'preact';
import { App } from './shell/app.tsx';

const root = document.getElementById('app');
if (root === null) throw new Error('the document has no element for the pages');
render(<App />, root);
