import { escaped, htmlPage } from '@gatehouse/public-access/page';

/** The page of a link: the button logs in, so that a preview of the link uses nothing up. */
export function loginLinkPage(ticket: string): string {
  return htmlPage(
    'Log in',
    `<p>This link logs this browser in, once.</p>
<form method="post" action="/login/link">
<input type="hidden" name="ticket" value="${escaped(ticket)}">
<button type="submit" autofocus>Log in</button>
</form>`,
  );
}
