import { Link } from '@tanstack/react-router';

export function NotFound() {
  return (
    <main className="sign-in">
      <h1>There is no such page</h1>
      <p>The address may have a typing error, or what it showed has been removed.</p>
      <p>
        <Link to="/">To the overview</Link>
      </p>
    </main>
  );
}
