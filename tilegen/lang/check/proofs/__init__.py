"""What can be proved of index expressions: that they stay inside, are never negative, meet no element twice."""
