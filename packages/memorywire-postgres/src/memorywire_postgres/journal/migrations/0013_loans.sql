-- Which agent was ever lent something, by which grant. The grant is a record of the lender, and says if it is in force.
CREATE TABLE loan (
  tenant   text COLLATE "C" NOT NULL,
  borrower text COLLATE "C" NOT NULL,
  lender   text COLLATE "C" NOT NULL,
  id       text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, borrower, lender, id)
);
