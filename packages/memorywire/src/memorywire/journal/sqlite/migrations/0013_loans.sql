-- Which agent was ever lent something, by which grant. The grant is a record of the lender, and says if it is in force.
CREATE TABLE loan (
  tenant   TEXT NOT NULL,
  borrower TEXT NOT NULL,
  lender   TEXT NOT NULL,
  id       TEXT NOT NULL,
  PRIMARY KEY (tenant, borrower, lender, id)
) STRICT, WITHOUT ROWID;
